import type { Readable } from 'node:stream';
import { DeleteObjectCommand, GetObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { FileMissing, type MediaStore } from './store.js';

/** Files in a bucket of S3 or of something that speaks like it. */
export interface S3Options {
  bucket: string;
  /** Where it is, unless it is Amazon's. */
  url: string | undefined;
  region: string;
  /** Without them the SDK looks where it always does (environment, service account of the pod). */
  accessKey: string | undefined;
  secretKey: string | undefined;
  /** `https://host/bucket/key` in place of `https://bucket.host/key`. */
  pathStyle: boolean;
  prefix: string;
}

/** One part at a time, of the least size: what an upload costs in memory. */
const PART_BYTES = 5 * 1024 * 1024;
const PARTS_AT_ONCE = 1;
const MAX_ATTEMPTS = 3;

export class S3Store implements MediaStore {
  readonly #client: S3Client;
  readonly #options: S3Options;

  constructor(options: S3Options) {
    this.#options = options;
    const { url, region, accessKey, secretKey, pathStyle } = options;
    this.#client = new S3Client({
      region,
      forcePathStyle: pathStyle,
      maxAttempts: MAX_ATTEMPTS,
      // Files carry their own tags (sealed-file.ts), and not every server knows the newer checksums.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      ...(url !== undefined && { endpoint: url }),
      ...(accessKey !== undefined &&
        secretKey !== undefined && {
          credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
        }),
    });
  }

  /** An upload in parts is seen once it is complete; a failed one is taken back. */
  async write(key: string, source: Readable): Promise<void> {
    const upload = new Upload({
      client: this.#client,
      params: { ...this.#place(key), Body: source },
      partSize: PART_BYTES,
      queueSize: PARTS_AT_ONCE,
    });
    try {
      await upload.done();
    } catch (error) {
      source.destroy();
      throw error;
    }
  }

  async read(key: string, { start, end }: { start: number; end: number }): Promise<Readable> {
    try {
      const answer = await this.#client.send(
        new GetObjectCommand({ ...this.#place(key), Range: `bytes=${start}-${end}` }),
      );
      return answer.Body as Readable;
    } catch (error) {
      if ((error as Error).name === 'NoSuchKey') throw new FileMissing(key, { cause: error });
      throw error;
    }
  }

  async remove(key: string): Promise<void> {
    await this.#client.send(new DeleteObjectCommand(this.#place(key)));
  }

  close(): void {
    this.#client.destroy();
  }

  #place(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#options.bucket, Key: this.#options.prefix + key };
  }
}
