import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../program.js';
import { ImageBuilder } from './builder.js';
import { makeLayer, type Image, type Layer } from './layout.js';
import { makeServer, SERVER_IMAGES } from './servers.js';

interface Making {
  version: string;
  /** Passes an image on. Its layers exist until all images are made. */
  write: (image: Image, name: string) => void;
  /** A tree after `make build`. Default: this one. */
  repository?: string;
}

/** Builds images of programs (`api`) and servers (`postgres`) for this machine's architecture. */
export async function makeImages(names: string[], { version, write, repository }: Making): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'gwk-images-'));
  const builder = new ImageBuilder(
    join(work, 'stages'),
    { VERSION: version, REVISION: readRevision(repository) },
    repository,
  );
  const made = new Map<string, Layer>();
  const layerOf = async (folder: string): Promise<Layer> => {
    const layer = made.get(folder) ?? (await makeLayer(folder, join(work, `${made.size}.tar.gz`)));
    made.set(folder, layer);
    return layer;
  };
  try {
    for (const name of names) {
      const server = SERVER_IMAGES[name];
      const root = join(work, 'servers', name);
      if (server) makeServer(name, root);
      const { layers: folders, config } = server ? { ...server, layers: [root] } : await builder.build(name);
      const layers: Layer[] = [];
      for (const folder of folders) layers.push(await layerOf(folder));
      write({ version, config, layers }, name);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function readRevision(repository = ROOT): string {
  const done = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: repository, encoding: 'utf8' });
  return done.status === 0 ? done.stdout.trim() : 'unknown';
}
