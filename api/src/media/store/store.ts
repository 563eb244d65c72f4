import type { Readable } from 'node:stream';

/**
 * Where files are kept: by key, whole or not at all. What a store holds is sealed (sealed-file.ts); it knows nothing
 * of media, accounts or types.
 */
export interface MediaStore {
  /** Writes the source to its end. What a failed one leaves is never seen by `read`. */
  write(key: string, source: Readable): Promise<void>;

  /** The bytes from `start` to `end`, both included. @throws FileMissing */
  read(key: string, range: { start: number; end: number }): Promise<Readable>;

  /** Nothing happens where there is no such file. */
  remove(key: string): Promise<void>;

  /** Writes something small and takes it back. @throws where nothing can be written */
  check(): Promise<void>;

  close(): void;
}

export class FileMissing extends Error {
  override name = 'FileMissing';
}
