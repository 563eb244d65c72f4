import { createHash, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { MAX_MEDIA_BYTES, type MediaOut } from '@gwk/core/resources/media';
import { newCustomer, type Customer } from '../support/gateway/customer.js';
import { Gateway } from '../support/gateway/gateway.js';
import { hasObjectStore, LEFT_OUT, ObjectStore } from '../support/servers/object-store.js';
import { residentMemory } from '../support/processes.js';
import { report } from '../support/gateway/check-traffic.js';
import { pause } from '../support/wait.js';

/** Runs on real API processes with both media stores. */
const MEGABYTE = 1024 * 1024;
const MAX_GROWTH_MB = 32;
const SAMPLE_MS = 20;

interface Upload {
  status: number;
  body: MediaOut;
}

function upload(
  url: string,
  { apiKey, bytes }: { apiKey: string; bytes: number },
): Promise<Upload & { sha256: string }> {
  const boundary = 'a-boundary';
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n`;
  const tail = `\r\n--${boundary}--\r\n`;
  const block = randomBytes(MEGABYTE);
  const hash = createHash('sha256');
  return new Promise((resolve, reject) => {
    const call = request(`${url}/v1/media`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${apiKey}`,
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': head.length + bytes + tail.length,
      },
    });
    call.on('error', reject);
    call.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => {
        const body = JSON.parse(text) as MediaOut;
        resolve({ status: response.statusCode ?? 0, body, sha256: hash.digest('hex') });
      });
    });
    call.write(head);
    let left = bytes;
    const more = (): void => {
      while (left > 0) {
        const part = block.subarray(0, Math.min(left, block.length));
        hash.update(part);
        left -= part.length;
        if (!call.write(part)) return void call.once('drain', more);
      }
      call.end(tail);
    };
    more();
  });
}

describe('with a folder', () => testMemory('a folder'));
if (hasObjectStore) describe('with a bucket', () => testMemory('a bucket'));
else describe.skip(LEFT_OUT, () => testMemory('a bucket'));

function testMemory(store: string): void {
  let gateway: Gateway;
  let customer: Customer;
  let objects: ObjectStore | undefined;

  beforeAll(async () => {
    if (store === 'a bucket') objects = await ObjectStore.start();
    const settings = { api: objects?.environment ?? {}, worker: objects?.environment ?? {} };
    gateway = await Gateway.start({ settings });
    customer = await newCustomer(gateway, 'memory');
  });
  afterAll(async () => {
    customer?.close();
    await gateway?.stop();
    await objects?.stop();
  });

  test('an upload of 64 MB increases the memory of the API by less than 32 MB', async () => {
    const url = gateway.urls[0]!;
    const apiKey = customer.key.api_key;
    // Warm-up: modules loaded by the first request, and buffers that any traffic needs.
    for (let i = 0; i < 3; i++) await upload(url, { apiKey, bytes: 8 * MEGABYTE });
    await pause(500);
    const pid = gateway.apis[0]!.pid!;
    const before = residentMemory(pid);
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, residentMemory(pid))), SAMPLE_MS);
    const began = performance.now();
    const { status, body, sha256 } = await upload(url, { apiKey, bytes: MAX_MEDIA_BYTES });
    const seconds = (performance.now() - began) / 1000;
    clearInterval(watch);
    expect([status, body.size, body.sha256]).toEqual([201, MAX_MEDIA_BYTES, sha256]);
    const growth = (most - before) / MEGABYTE;
    report(`an upload of 64 MB into ${store}`, {
      'API resident before, MB': Math.round(before / MEGABYTE),
      'grew by at most, MB': Number(growth.toFixed(1)),
      'took, s': Number(seconds.toFixed(1)),
    });
    expect(growth).toBeLessThan(MAX_GROWTH_MB);
  });
}
