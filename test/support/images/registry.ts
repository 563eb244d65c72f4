import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { buildOnce, type GoModule } from '../kubernetes/go-modules.js';
import { ROOT } from '../program.js';
import { until } from '../wait.js';
import { run } from './folders.js';
import { makeLayout, type Image } from './layout.js';
import { makeImages } from './make.js';
import { SERVER_IMAGES } from './servers.js';

const CRANE: GoModule = {
  name: 'crane',
  place: 'crane',
  sources: join(ROOT, 'scripts/release/go'),
  files: [],
  version: 'v0.22.1',
  builds: [
    {
      args: ['-ldflags=-s -w'],
      output: 'crane',
      packages: ['github.com/google/go-containerregistry/cmd/crane'],
    },
  ],
};

/** Puts crane on the path of this process. It is built once into the user's cache. */
export async function prepareCrane(say: (line: string) => void): Promise<void> {
  process.env['PATH'] = [await buildOnce(CRANE, say), process.env['PATH']].join(delimiter);
}

/** A registry of this machine for one run. It keeps manifests in memory and blobs as files. */
export interface LocalRegistry {
  host: string;
  stop: () => void;
}

/** File of a blob. @param folder that of the registry */
export const findBlob = (folder: string, digest: string): string => join(folder, digest.replace(':', '/'));

/** Starts a registry without TLS. The tools use HTTP for loopback and private addresses. */
export async function startRegistry(folder: string, address = '127.0.0.1'): Promise<LocalRegistry> {
  mkdirSync(folder, { recursive: true });
  // Not a pipe: this process may run steps synchronously, and a full pipe would stop the registry.
  const log = `${folder}.log`;
  const file = openSync(log, 'w');
  const child = spawn('crane', ['registry', 'serve', '--address', `${address}:0`, '--disk', folder], {
    stdio: ['ignore', 'ignore', file],
  });
  closeSync(file);
  const port = await until(() => /serving on port (\d+)/.exec(readFileSync(log, 'utf8'))?.[1], {
    what: 'the registry serves',
  });
  return { host: `${address}:${port}`, stop: () => void child.kill() };
}

/** @returns its digest */
export function pushImage(image: Image, reference: string): string {
  const work = mkdtempSync(join(tmpdir(), 'gwk-layout-'));
  try {
    makeLayout(image, join(work, 'image'));
    return run('crane', ['push', join(work, 'image'), reference])
      .trim()
      .split('@')[1]!;
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** Pushes images of servers by the names that the chart gives them. */
export const pushServers = (host: string, names: string[]): Promise<void> =>
  makeImages(names, {
    version: 'test',
    write: (image, name) => void pushImage(image, SERVER_IMAGES[name]!.reference.replace(/^[^/]+/, host)),
  });

interface Pushing {
  /** Registry with a path. */
  registry: string;
  names: string[];
  version: string;
  architectures: string[];
  repository?: string;
}

/**
 * Builds the images without Docker and pushes them like `make release-images`. The programs are those of this machine's
 * architecture, also in the images that name another one.
 * @returns their digests by architecture and name
 */
export async function pushImages({ registry, names, version, architectures, repository }: Pushing) {
  const platforms = Object.fromEntries(
    architectures.map((one): [string, Record<string, string>] => [one, {}]),
  );
  await makeImages(names, {
    version,
    ...(repository !== undefined && { repository }),
    write(image, name) {
      for (const architecture of architectures) {
        const reference = `${registry}/gwk-${name}:${version}-${architecture}`;
        platforms[architecture]![name] = pushImage({ ...image, architecture }, reference);
      }
    },
  });
  return platforms;
}
