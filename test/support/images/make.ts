import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeArchive, makeLayer, type Archive, type Layer } from './archive.js';
import { ImageBuilder } from './builder.js';
import { makeServer, SERVER_IMAGES } from './servers.js';

/**
 * Writes `<output>/<name>.tar` for programs (`api`) and servers (`postgres`), with the names that the chart uses by
 * default. Nodes without a registry load them.
 */
export const makeArchives = (output: string, names: string[], tag: string): Promise<void> =>
  makeImages(names, {
    tag,
    output,
    write: (archive, name) => makeArchive(archive, join(output, `${name}.tar`)),
  });

interface Making {
  tag: string;
  output: string;
  write: (archive: Archive, name: string) => void;
}

/** Builds images of this machine's architecture and passes each to `write`. Its layers exist until all are written. */
export async function makeImages(names: string[], { tag, output, write }: Making): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'gwk-images-'));
  const builder = new ImageBuilder(join(work, 'stages'), { VERSION: tag, REVISION: readRevision() });
  const made = new Map<string, Layer>();
  const layerOf = async (folder: string): Promise<Layer> => {
    const layer = made.get(folder) ?? (await makeLayer(folder, join(work, `${made.size}.tar`)));
    made.set(folder, layer);
    return layer;
  };
  mkdirSync(output, { recursive: true });
  try {
    for (const name of names) {
      const server = SERVER_IMAGES[name];
      const root = join(work, 'servers', name);
      if (server) makeServer(name, root);
      const { layers: folders, config } = server ? { ...server, layers: [root] } : await builder.build(name);
      const layers: Layer[] = [];
      for (const folder of folders) layers.push(await layerOf(folder));
      const reference = server?.reference ?? `docker.io/library/gwk-${name}:${tag}`;
      write({ name: reference, version: tag, config, layers }, name);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function readRevision(): string {
  const done = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' });
  return done.status === 0 ? done.stdout.trim() : 'unknown';
}
