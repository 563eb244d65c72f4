import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
  type CompletedPart,
} from '@aws-sdk/client-s3';
import { FileMissing, type MediaStore, type MediaStoreConfig } from './store.js';

/** S3's minimum size of a part, which is the memory that an upload needs. */
const PART_BYTES = 5 * 1024 * 1024;
const MAX_ATTEMPTS = 3;
const CHECK_MS = 10_000;

/** Stores files in a bucket of S3 or of a compatible server. */
export class S3Store implements MediaStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor(bucket: string, config: MediaStoreConfig) {
    this.#bucket = bucket;
    this.#prefix = config.mediaS3Prefix;
    const { mediaS3Url: url, mediaS3AccessKey: accessKey, mediaS3SecretKey: secretKey } = config;
    this.#client = new S3Client({
      region: config.mediaS3Region,
      forcePathStyle: config.mediaS3PathStyle,
      maxAttempts: MAX_ATTEMPTS,
      // Files have authentication tags (sealed-file.ts), and not every server supports the newer checksums.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      ...(url !== undefined && { endpoint: url }),
      ...(accessKey !== undefined &&
        secretKey !== undefined && {
          credentials: { accessKeyId: accessKey, secretAccessKey: secretKey },
        }),
    });
  }

  /**
   * Uploads parts one at a time through one buffer, because the SDK's uploader holds several copies of each part. An
   * upload is visible when it is complete; a failed one is aborted.
   */
  async write(key: string, source: Readable): Promise<void> {
    const part = new PartBuffer();
    let parts: MultipartUpload | undefined;
    try {
      for await (const chunk of source as AsyncIterable<Buffer>) {
        for (let taken = part.fill(chunk); part.full; taken += part.fill(chunk.subarray(taken))) {
          parts ??= await MultipartUpload.begin(this.#client, this.#place(key));
          await parts.send(part.take());
        }
      }
      const rest = part.take();
      if (!parts) await this.#client.send(new PutObjectCommand({ ...this.#place(key), Body: rest }));
      else await parts.finish(rest);
    } catch (error) {
      source.destroy();
      await parts?.abort();
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

  /** Always writes the same key, so that objects do not pile up where deletion is not allowed. */
  async check(): Promise<void> {
    const abortSignal = AbortSignal.timeout(CHECK_MS);
    await this.#client.send(new PutObjectCommand({ ...this.#place('written'), Body: Buffer.from('.') }), {
      abortSignal,
    });
  }

  close(): void {
    this.#client.destroy();
  }

  #place(key: string): Place {
    return { Bucket: this.#bucket, Key: this.#prefix + key };
  }
}

interface Place {
  Bucket: string;
  Key: string;
}

class PartBuffer {
  readonly #buffer = Buffer.allocUnsafe(PART_BYTES);
  #filled = 0;

  get full(): boolean {
    return this.#filled === PART_BYTES;
  }

  /** @returns the number of copied bytes */
  fill(chunk: Buffer): number {
    const copied = chunk.copy(this.#buffer, this.#filled);
    this.#filled += copied;
    return copied;
  }

  /** Returns the content, which is valid until the next fill. */
  take(): Buffer {
    const taken = this.#buffer.subarray(0, this.#filled);
    this.#filled = 0;
    return taken;
  }
}

class MultipartUpload {
  readonly #done: CompletedPart[] = [];

  private constructor(
    private readonly client: S3Client,
    private readonly upload: Place & { UploadId: string | undefined },
  ) {}

  static async begin(client: S3Client, place: Place): Promise<MultipartUpload> {
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(place));
    return new MultipartUpload(client, { ...place, UploadId });
  }

  /** The caller may reuse the buffer when this resolves. */
  async send(Body: Buffer): Promise<void> {
    const PartNumber = this.#done.length + 1;
    const { ETag } = await this.client.send(new UploadPartCommand({ ...this.upload, PartNumber, Body }));
    this.#done.push({ PartNumber, ETag });
  }

  async finish(rest: Buffer): Promise<void> {
    if (rest.length > 0) await this.send(rest);
    await this.client.send(
      new CompleteMultipartUploadCommand({ ...this.upload, MultipartUpload: { Parts: this.#done } }),
    );
  }

  /** If the abort fails too, the bucket's rule for incomplete uploads deletes it (docs/media.md). */
  async abort(): Promise<void> {
    await this.client.send(new AbortMultipartUploadCommand(this.upload)).catch(() => undefined);
  }
}
