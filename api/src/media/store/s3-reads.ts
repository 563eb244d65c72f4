import type { Readable } from 'node:stream';
import type { S3Client } from '@aws-sdk/client-s3';
import { processClock, type Clock } from '@gwk/core/clock';
import type { Proxy } from '@gwk/core/proxy/proxy';
import { Agent, buildConnector, request } from 'undici';
import { freeBuffer } from '../../platform/buffers.js';
import { proxyConnector } from '../../platform/proxy-connector.js';
import type { MediaStoreConfig } from './store.js';

export const CONNECT_TIMEOUT_MS = 5_000;
/** Timeout of a connection without a byte. */
export const IDLE_TIMEOUT_MS = 30_000;
/** Time in which the caller must begin to read. */
const UNREAD_TIMEOUT_MS = 30_000;

/**
 * Sends signed reads without the SDK's middleware. The SDK allocates 295 kB of objects for each read, this 85 kB, and
 * garbage was most of the memory of standing downloads (test/load/standing-transfers.test.ts). Node's HTTP client copies
 * each buffer of the connection, which can then not be freed; undici does not.
 */
export class S3Reads {
  /** With HTTP/2, reads would share the buffers that `freeAfterUse` frees. */
  readonly #connections: Agent;
  #signer: Awaited<ReturnType<S3Client['config']['signer']>> | undefined;

  constructor(
    private readonly client: S3Client,
    private readonly config: MediaStoreConfig,
    proxy: Proxy | null,
  ) {
    const connect = buildConnector({ allowH2: false, timeout: CONNECT_TIMEOUT_MS });
    this.#connections = new Agent({
      allowH2: false,
      connect: proxy ? proxyConnector({ proxy, connect }) : connect,
      headersTimeout: IDLE_TIMEOUT_MS,
      bodyTimeout: IDLE_TIMEOUT_MS,
    });
  }

  /** @returns null: the answer is not the range */
  async read(place: { Bucket: string; Key: string; Range: string }): Promise<Readable | null> {
    const url = findObject(await resolveBucket(this.client, place.Bucket, this.config), place.Key);
    const { protocol, hostname, host, pathname: path } = url;
    this.#signer ??= await this.client.config.signer();
    const { headers } = await this.#signer.sign({
      ...{ method: 'GET', protocol, hostname, path },
      headers: { host, range: place.Range },
    });
    const { statusCode, body } = await request(url, {
      dispatcher: this.#connections,
      headers,
      // A stream joins the buffers that wait in it, which then cannot be freed. With this mark one waits.
      highWaterMark: 1,
    });
    if (statusCode === 206) return body;
    await body.dump();
    return null;
  }

  close(): void {
    void this.#connections.destroy();
  }
}

/** The URL of a bucket, by the same settings, environment and files as the SDK's. */
export async function resolveBucket(
  { config }: S3Client,
  Bucket: string,
  { mediaS3Region: Region, mediaS3Url, mediaS3PathStyle: ForcePathStyle }: MediaStoreConfig,
): Promise<URL> {
  const UseFIPS = await config.useFipsEndpoint();
  const UseDualStack = await config.useDualstackEndpoint();
  const Endpoint = mediaS3Url ?? (await config.serviceConfiguredEndpoint?.());
  const given = { Bucket, Region, ForcePathStyle, UseFIPS, UseDualStack };
  return config.endpointProvider({ ...given, ...(Endpoint !== undefined && { Endpoint }) }).url;
}

/** A key may begin with a slash. A path of two slashes alone would name another host. */
export const findObject = ({ origin, pathname }: URL, key: string): URL =>
  new URL(`${origin}${pathname.replace(/\/$/, '')}/${key}`);

/**
 * The HTTP client allocates a buffer for each read of its connection. Frees it after the part that ends it: parts come in
 * order, and nobody else uses them. Closes a body that nobody begins to read, because the client's timeouts do not.
 */
export function freeAfterUse(body: Readable, clock: Clock = processClock): AsyncIterable<Buffer> {
  const cancel = clock.every(UNREAD_TIMEOUT_MS, () => {
    cancel();
    body.destroy();
  });
  // Nobody listens before the first read, which reports the error too.
  body.on('error', () => undefined);
  return (async function* () {
    cancel();
    for await (const bytes of body as AsyncIterable<Buffer>) {
      yield bytes;
      if (bytes.byteOffset + bytes.length === bytes.buffer.byteLength) freeBuffer(Buffer.from(bytes.buffer));
    }
  })();
}
