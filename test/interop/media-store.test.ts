import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { isMarkedAsUntransferable } from 'node:worker_threads';
import { openMediaStore } from '@gwk/api/media/media';
import { loadConfig } from '@gwk/core/config/load';
import { mediaStoreSettings } from '@gwk/api/config/media';
import { proxySettings } from '@gwk/core/config/proxy';
import { Proxy } from '@gwk/core/proxy/proxy';
import { testMediaStore } from '../support/api/media-store.js';
import { TEST_CERTIFICATE } from '../support/certificate.js';
import { PROXY_CA, startProxy, type ProxyKind } from '../support/servers/proxies.js';
import { hasObjectStore, LEFT_OUT, ObjectStore } from '../support/servers/object-store.js';

/** Runs against a real S3 server: versitygw, or the one named by the environment (docs/media.md). */
let objects: ObjectStore | undefined;
afterAll(() => objects?.stop());

async function open() {
  objects ??= await ObjectStore.start();
  return openMediaStore(loadConfig(mediaStoreSettings, objects.environment));
}

/** The name of the bucket's server is known to the proxy alone. */
async function openThrough(kind: ProxyKind, url: string) {
  const proxy = await startProxy(kind);
  const media = { ...objects!.environment, GWK_MEDIA_S3_URL: url };
  const route = { HTTPS_PROXY: proxy.url, GWK_API_PROXY_CA: PROXY_CA };
  const config = loadConfig(mediaStoreSettings, media);
  const store = await openMediaStore(
    config,
    Proxy.fromConfig(loadConfig(proxySettings('GWK_API', 'tests'), route)),
  );
  return { store, proxy };
}

const findPort = async (): Promise<number> => {
  objects ??= await ObjectStore.start();
  return Number(new URL(objects.environment['GWK_MEDIA_S3_URL']!).port);
};

/** TLS in front of the bucket, with a certificate that this process trusts until `stop`. */
async function startTls() {
  const port = await findPort();
  const trusted = getCACertificates('default');
  setDefaultCACertificates([...trusted, TEST_CERTIFICATE.cert]);
  const server = createServer(TEST_CERTIFICATE, (socket) => {
    // An error means that the client is gone.
    pipeline(socket, connect(port, '127.0.0.1'), socket, () => undefined);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const stop = () => {
    setDefaultCACertificates(trusted);
    server.close();
  };
  return { url: `https://${TEST_CERTIFICATE.name}:${(server.address() as AddressInfo).port}`, stop };
}

function testProxies(): void {
  const startPlain = async () => ({ url: `http://s3.test:${await findPort()}`, stop: () => undefined });
  test.each<[ProxyKind, string, () => Promise<{ url: string; stop: () => void }>]>([
    ['http', 'without TLS', startPlain],
    ['https', 'without TLS', startPlain],
    ['socks5', 'without TLS', startPlain],
    ['http', 'with TLS', startTls],
    ['https', 'with TLS', startTls],
    ['socks5', 'with TLS', startTls],
  ])('is reached through a proxy (%s), %s', async (kind, _, start) => {
    const bucket = await start();
    const { store, proxy } = await openThrough(kind, bucket.url);
    const key = randomUUID();
    const bytes = randomBytes(FILE_BYTES);
    await store.write(key, Readable.from([bytes]));
    const read: Buffer[] = [];
    for await (const part of await store.read(key, { start: 0, end: FILE_BYTES - 1 }))
      read.push(Buffer.from(part));
    expect(Buffer.concat(read).equals(bytes)).toBe(true);
    await store.remove(key);
    expect(proxy.opened.length).toBeGreaterThanOrEqual(2);
    expect(new Set(proxy.opened)).toEqual(new Set([new URL(bucket.url).host]));
    store.close();
    await proxy.stop();
    bucket.stop();
  });
}

if (hasObjectStore) {
  describe('a bucket', () => {
    testMediaStore(open);
    testProxies();
    test('frees every buffer of a read after its use', testFreedBuffers);
  });
} else describe.skip(LEFT_OUT, () => testMediaStore(open));

const FILE_BYTES = 2_000_000;

/**
 * A buffer that is not freed would be left to the garbage collection. Node joins small chunks that wait in the memory that
 * small buffers share, which stays. test/load/standing-transfers.test.ts measures memory.
 */
async function testFreedBuffers(): Promise<void> {
  const store = await open();
  try {
    const key = randomUUID();
    await store.write(key, Readable.from([randomBytes(FILE_BYTES)]));
    const used: ArrayBufferLike[] = [];
    let size = 0;
    for (let i = 0; i < 20; i++) {
      for await (const bytes of await store.read(key, { start: 0, end: FILE_BYTES - 1 })) {
        size += bytes.length;
        used.push(bytes.buffer);
      }
    }
    expect(size).toBe(20 * FILE_BYTES);
    const own = used.filter((buffer) => !isMarkedAsUntransferable(buffer));
    expect(own.filter((buffer) => !(buffer as ArrayBuffer).detached)).toEqual([]);
  } finally {
    store.close();
  }
}
