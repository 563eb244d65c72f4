import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeLayout } from '@gwk/test/support/images/archive';
import { makeImages } from '@gwk/test/support/images/make';
import { until } from '@gwk/test/support/wait';
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

/** Builds the images without Docker and pushes them like `make release-images`, for this machine's architecture. */
export async function pushImages(
  registry: string,
  names: string[],
  tag: string,
  version: string,
): Promise<void> {
  const work = mkdtempSync(join(tmpdir(), 'gwk-layouts-'));
  try {
    await makeImages(names, {
      tag: version,
      output: work,
      write(archive, name) {
        makeLayout(archive, join(work, name));
        run('crane', ['push', join(work, name), `${registry}/gwk-${name}:${tag}`]);
        rmSync(join(work, name), { recursive: true });
      },
    });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
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
