import type { Readable } from 'node:stream';
import type { ConfigOf } from '@gwk/core/config/load';
import type { mediaStoreSettings } from '@gwk/core/config/media';

export type MediaStoreConfig = ConfigOf<typeof mediaStoreSettings>;

/** Stores encrypted files (sealed-file.ts) by key. A file is whole or absent. */
export interface MediaStore {
  /** Writes the source to its end. `read` never sees a failed write. @throws also the error of the source */
  write(key: string, source: AsyncIterable<Buffer>): Promise<void>;

  /** Reads the bytes from `start` to `end`, both included. @throws FileMissing */
  read(key: string, range: { start: number; end: number }): Promise<Readable>;

  /** Removes a file; no effect if it does not exist. */
  remove(key: string): Promise<void>;

  /** Makes a test write. @throws if the store is not writable */
  check(): Promise<void>;

  close(): void;
}

export class FileMissing extends Error {
  override name = 'FileMissing';
}
