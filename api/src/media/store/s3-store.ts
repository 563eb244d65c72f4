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

/** The least that a part may have: what an upload costs in memory, whatever its size. */
const PART_BYTES = 5 * 1024 * 1024;
const MAX_ATTEMPTS = 3;
const CHECK_MS = 10_000;

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

  /**
   * In parts, one at a time through one buffer (the SDK's own uploader holds several copies of each). An upload is seen
   * once it is complete; a failed one is taken back.
   */
  async write(key: string, source: Readable): Promise<void> {
    const part = new PartBuffer();
    let parts: Parts | undefined;
    try {
      for await (const chunk of source as AsyncIterable<Buffer>) {
        for (let taken = part.fill(chunk); part.full; taken += part.fill(chunk.subarray(taken))) {
          parts ??= await Parts.begin(this.#client, this.#place(key));
          await parts.send(part.take());
        }
      }
      const rest = part.take();
      if (!parts) await this.#client.send(new PutObjectCommand({ ...this.#place(key), Body: rest }));
      else await parts.finish(rest);
    } catch (error) {
      source.destroy();
      await parts?.abandon();
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

  /** Always under one key: where removing is not allowed nothing piles up. */
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
    return { Bucket: this.#options.bucket, Key: this.#options.prefix + key };
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

  /** @returns how much of the chunk there was room for */
  fill(chunk: Buffer): number {
    const copied = chunk.copy(this.#buffer, this.#filled);
    this.#filled += copied;
    return copied;
  }

  /** What is in it, to be used before it is filled again. */
  take(): Buffer {
    const taken = this.#buffer.subarray(0, this.#filled);
    this.#filled = 0;
    return taken;
  }
}

/** An upload in parts. */
class Parts {
  readonly #done: CompletedPart[] = [];

  private constructor(
    private readonly client: S3Client,
    private readonly upload: Place & { UploadId: string | undefined },
  ) {}

  static async begin(client: S3Client, place: Place): Promise<Parts> {
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(place));
    return new Parts(client, { ...place, UploadId });
  }

  /** The buffer is free again when this resolves. */
  async send(Body: Buffer): Promise<void> {
    const PartNumber = this.#done.length + 1;
    const { ETag } = await this.client.send(new UploadPartCommand({ ...this.upload, PartNumber, Body }));
    this.#done.push({ PartNumber, ETag });
  }

  async finish(rest: Buffer): Promise<void> {
    if (rest.length > 0) await this.send(rest);
    const MultipartUpload = { Parts: this.#done };
    await this.client.send(new CompleteMultipartUploadCommand({ ...this.upload, MultipartUpload }));
  }

  /** Where this fails too, the bucket's own rule for unfinished uploads ends it (docs/media.md). */
  async abandon(): Promise<void> {
    await this.client.send(new AbortMultipartUploadCommand(this.upload)).catch(() => undefined);
  }
}
