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

  constructor(
    private readonly bucket: string,
    private readonly config: MediaStoreConfig,
  ) {
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
  async write(key: string, source: AsyncIterable<Buffer>): Promise<void> {
    const place = this.#place(key);
    const Parts: CompletedPart[] = [];
    let upload: (Place & { UploadId: string }) | undefined;
    try {
      for await (const Body of splitParts(source)) {
        if (!upload && Body.length < PART_BYTES) {
          await this.#client.send(new PutObjectCommand({ ...place, Body }));
          return;
        }
        upload ??= await this.#beginUpload(place);
        const PartNumber = Parts.length + 1;
        const { ETag } = await this.#client.send(new UploadPartCommand({ ...upload, PartNumber, Body }));
        Parts.push({ PartNumber, ETag });
      }
      await this.#client.send(new CompleteMultipartUploadCommand({ ...upload!, MultipartUpload: { Parts } }));
    } catch (error) {
      // If the abort fails too, the bucket's rule for incomplete uploads deletes it (docs/media.md).
      if (upload) await this.#client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
      throw error;
    }
  }

  async #beginUpload(place: Place): Promise<Place & { UploadId: string }> {
    const { UploadId } = await this.#client.send(new CreateMultipartUploadCommand(place));
    return { ...place, UploadId: UploadId! };
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
    return { Bucket: this.bucket, Key: this.config.mediaS3Prefix + key };
  }
}

interface Place {
  Bucket: string;
  Key: string;
}

/**
 * Splits a file into parts of 5 MiB and a rest, through one buffer: a part is valid until the next one. An empty file is one
 * empty part.
 */
async function* splitParts(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const part = Buffer.allocUnsafe(PART_BYTES);
  let filled = 0;
  let isEmpty = true;
  for await (const chunk of source) {
    for (let taken = 0; taken < chunk.length;) {
      const copied = chunk.copy(part, filled, taken);
      taken += copied;
      filled += copied;
      if (filled < PART_BYTES) continue;
      yield part;
      filled = 0;
      isEmpty = false;
    }
  }
  if (filled > 0 || isEmpty) yield part.subarray(0, filled);
}
