import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeLayout } from '@gwk/test/support/images/archive';
import { makeImages } from '@gwk/test/support/images/make';
import { until } from '@gwk/test/support/wait';
import type { Platforms } from './publish.ts';
import { run } from './tools.ts';

/** A registry of this machine for one rehearsal. It keeps manifests in memory and blobs as files. */
export interface LocalRegistry {
  host: string;
  /** File of a blob. */
  blob: (digest: string) => string;
  stop: () => void;
}

export async function startRegistry(folder: string): Promise<LocalRegistry> {
  mkdirSync(folder, { recursive: true });
  // Not a pipe: this process runs the steps synchronously, and a full pipe would stop the registry.
  const log = `${folder}.log`;
  const file = openSync(log, 'w');
  const child = spawn('crane', ['registry', 'serve', '--address', '127.0.0.1:0', '--disk', folder], {
    stdio: ['ignore', 'ignore', file],
  });
  closeSync(file);
  const port = await until(() => /serving on port (\d+)/.exec(readFileSync(log, 'utf8'))?.[1], {
    what: 'the registry serves',
  });
  return {
    host: `localhost:${port}`,
    blob: (digest) => join(folder, digest.replace(':', '/')),
    stop: () => void child.kill(),
  };
}

/**
 * Builds the images without Docker and pushes them like `make release-images`. The programs are those of this machine's
 * architecture, also in the images that name the other one.
 */
export async function pushImages(
  registry: string,
  names: string[],
  architectures: string[],
  version: string,
): Promise<Platforms> {
  const platforms: Platforms = Object.fromEntries(architectures.map((one) => [one, {}]));
  const work = mkdtempSync(join(tmpdir(), 'gwk-layouts-'));
  try {
    await makeImages(names, {
      tag: version,
      output: work,
      write(archive, name) {
        makeLayout(archive, join(work, name));
        const repository = `${registry}/gwk-${name}`;
        const pushed = run('crane', ['push', join(work, name), `${repository}:${version}-made`]).trim();
        for (const architecture of architectures) {
          const platform = ['--set-platform', `linux/${architecture}`];
          const tag = ['--tag', `${repository}:${version}-${architecture}`];
          const image = run('crane', ['mutate', pushed, ...platform, ...tag]).trim();
          platforms[architecture]![name] = image.split('@')[1]!;
        }
        rmSync(join(work, name), { recursive: true });
      },
    });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return platforms;
}

/** Changes one byte in the middle of a file. @returns how to undo it */
export function changeByte(file: string): () => void {
  const bytes = readFileSync(file);
  const changed = Buffer.from(bytes);
  const middle = bytes.length >> 1;
  changed[middle] = bytes[middle]! ^ 1;
  writeFileSync(file, changed);
  return () => writeFileSync(file, bytes);
}
