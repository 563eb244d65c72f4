import type { ConfigOf } from '@gwk/core/config/load';
import type { mediaStoreSettings } from '../../config/media.js';

export type MediaStoreConfig = ConfigOf<typeof mediaStoreSettings>;

/** Positions of the first and the last byte. */
export interface Range {
  start: number;
  end: number;
}

/** Stores encrypted files (sealed-file.ts) by key. A file is whole or absent. */
export interface MediaStore {
  /**
   * Writes the source to its end; its buffers are each valid until the next. `read` never sees a failed write.
   * @param owner the account or instance of the file; owners share the buffers of the store equally
   * @throws also the error of the source
   */
  write(key: string, source: AsyncIterable<Buffer>, owner?: string): Promise<void>;

  /**
   * Reads a range. Each buffer is valid until the next is requested. The caller must iterate the result, which then closes
   * the file.
   * @throws FileMissing
   */
  read(key: string, range: Range): Promise<AsyncIterable<Buffer>>;

  /** Removes a file; no effect if it does not exist. */
  remove(key: string): Promise<void>;

  /** Makes a test write. @throws if the store is not writable */
  check(): Promise<void>;

  close(): void;
}

export class FileMissing extends Error {
  override name = 'FileMissing';
}
