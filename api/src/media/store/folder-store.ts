import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { freeBuffer } from '../../platform/buffers.js';
import { SEALED_CHUNK } from './sealed-file.js';
import { FileMissing, type MediaStore, type Range } from './store.js';

/** A whole block, because a full disk may still accept a few bytes. */
const CHECK_BYTES = Buffer.alloc(4096);

/**
 * Stores files in a folder that all API and worker processes share. It writes a temporary file, syncs it and renames it, so
 * a crash leaves a whole file or a temporary one that nobody reads. `remove` deletes both.
 */
export class FolderStore implements MediaStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = resolve(folder);
  }

  async write(key: string, source: AsyncIterable<Buffer>): Promise<void> {
    const path = this.#pathOf(key);
    const unfinished = `${path}.${randomUUID()}.part`;
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeFile(unfinished, source, { mode: 0o600, flush: true });
      await rename(unfinished, path);
    } catch (error) {
      await rm(unfinished, { force: true });
      throw error;
    }
  }

  async read(key: string, range: Range): Promise<AsyncIterable<Buffer>> {
    try {
      return readRange(await open(this.#pathOf(key)), range);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw new FileMissing(key, { cause: error });
      throw error;
    }
  }

  async remove(key: string): Promise<void> {
    await rm(dirname(this.#pathOf(key)), { recursive: true, force: true });
  }

  async check(): Promise<void> {
    const path = join(this.#folder, `.written-${randomUUID()}`);
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await writeFile(path, CHECK_BYTES, { mode: 0o600, flush: true });
    } finally {
      await rm(path, { force: true });
    }
  }

  close(): void {}

  /** Each file has a folder for its temporary files. Two characters spread the folders, because huge folders are slow. */
  #pathOf(key: string): string {
    if (!/^[0-9a-f-]{36}$/.test(key)) throw new Error('not a key of the store');
    return join(this.#folder, key.slice(-2), key, 'file');
  }
}

/** Reads into one buffer, because a stream leaves a buffer for each read until the next garbage collection. */
async function* readRange(file: FileHandle, { start, end }: Range): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(SEALED_CHUNK);
  try {
    for (let at = start; at <= end;) {
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, end - at + 1), at);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  } finally {
    freeBuffer(buffer);
    await file.close();
  }
}
