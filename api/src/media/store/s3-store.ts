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
import { createAgents } from '@gwk/core/proxy/agents';
import type { Proxy } from '@gwk/core/proxy/proxy';
import { BufferPool } from '../../platform/buffers.js';
import { CONNECT_TIMEOUT_MS, freeAfterUse, IDLE_TIMEOUT_MS, S3Reads } from './s3-reads.js';
import { openSpool, type Spool } from './spool.js';
import { FileMissing, type MediaStore, type MediaStoreConfig, type Range } from './store.js';

/** S3's minimum size of a part. */
const PART_BYTES = 5 * 1024 * 1024;
/** Parts that a process sends at once. */
const MAX_PARTS = 4;
const MAX_ATTEMPTS = 3;
const CHECK_MS = 10_000;
/** Transfers have their own bounds (transfers/media-transfers.ts). */
const SOCKETS = { keepAlive: true, maxSockets: Infinity };

/** Stores files in a bucket of S3 or of a compatible server. */
export class S3Store implements MediaStore {
  readonly #client: S3Client;
  readonly #reads: S3Reads;
  /** Only reading and sending a part occupies a buffer, so no client decides how long. */
  readonly #buffers = new BufferPool(MAX_PARTS, PART_BYTES);

  constructor(
    private readonly bucket: string,
    private readonly config: MediaStoreConfig,
    proxy: Proxy | null,
  ) {
    this.#client = openClient(config, proxy);
    this.#reads = new S3Reads(this.#client, config, proxy);
  }

  /**
   * Writes each part to a temporary file first, so that a slow upload occupies neither memory nor a connection to the bucket.
   * An upload is visible when it is complete; a failed one is aborted.
   */
  async write(key: string, source: AsyncIterable<Buffer>, owner = key): Promise<void> {
    const place = this.#place(key);
    const spool = await openSpool();
    let upload: Upload | null = null;
    try {
      for await (const bytes of cutAt(PART_BYTES, source)) {
        await spool.append(bytes);
        if (spool.size < PART_BYTES) continue;
        upload ??= await this.#beginUpload(place);
        await this.#sendPart(upload, spool, owner);
      }
      if (upload === null) return void (await this.#sendWhole(place, spool, owner));
      if (spool.size > 0) await this.#sendPart(upload, spool, owner);
      const { Parts, ...named } = upload;
      await this.#client.send(new CompleteMultipartUploadCommand({ ...named, MultipartUpload: { Parts } }));
    } catch (error) {
      // If the abort fails too, the bucket's rule for incomplete uploads deletes it (docs/media.md).
      if (upload !== null)
        await this.#client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined);
      throw error;
    } finally {
      await spool.close();
    }
  }

  #sendWhole(place: Place, spool: Spool, owner: string): Promise<unknown> {
    return this.#buffers.use(owner, async (buffer) =>
      this.#client.send(new PutObjectCommand({ ...place, Body: await spool.take(buffer) })),
    );
  }

  /** One part at a time, because the SDK's uploader holds several copies of each part. */
  async #sendPart({ Parts, ...upload }: Upload, spool: Spool, owner: string): Promise<void> {
    const PartNumber = Parts.length + 1;
    const { ETag } = await this.#buffers.use(owner, async (buffer) =>
      this.#client.send(new UploadPartCommand({ ...upload, PartNumber, Body: await spool.take(buffer) })),
    );
    Parts.push({ PartNumber, ETag });
  }

  async #beginUpload(place: Place): Promise<Upload> {
    const { UploadId } = await this.#client.send(new CreateMultipartUploadCommand(place));
    return { ...place, UploadId: UploadId!, Parts: [] };
  }

  /** The SDK repeats a read that fails, because it knows the errors, clock skew and when to try again. */
  async read(key: string, { start, end }: Range): Promise<AsyncIterable<Buffer>> {
    const place = { ...this.#place(key), Range: `bytes=${start}-${end}` };
    const body = await this.#reads.read(place).catch(() => null);
    return freeAfterUse(body ?? (await this.#readBySdk(key, place)));
  }

  async #readBySdk(key: string, place: Place & { Range: string }): Promise<Readable> {
    try {
      return (await this.#client.send(new GetObjectCommand(place))).Body as Readable;
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
    this.#reads.close();
  }

  #place(key: string): Place {
    return { Bucket: this.bucket, Key: this.config.mediaS3Prefix + key };
  }
}

/** Cuts the buffers of a source at multiples of `size`. */
async function* cutAt(size: number, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let left = size;
  for await (const bytes of source) {
    for (let at = 0; at < bytes.length;) {
      const piece = bytes.subarray(at, at + left);
      yield piece;
      at += piece.length;
      left = left === piece.length ? size : left - piece.length;
    }
  }
}

interface Place {
  Bucket: string;
  Key: string;
}

interface Upload extends Place {
  UploadId: string;
  Parts: CompletedPart[];
}

/** Clients of identity services, which the SDK creates for credentials, share its connections and its proxy. */
export function openClient(config: MediaStoreConfig, proxy: Proxy | null = null): S3Client {
  const { mediaS3Url: url, mediaS3AccessKey: accessKey, mediaS3SecretKey: secretKey } = config;
  const agents = proxy && createAgents(proxy, SOCKETS);
  return new S3Client({
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: IDLE_TIMEOUT_MS,
      httpAgent: agents?.http ?? SOCKETS,
      httpsAgent: agents?.https ?? SOCKETS,
    },
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
