import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { MAX_MEDIA_BYTES, type MediaOut } from '@gwk/core/resources/media';
import { newCustomer, type Customer } from '../support/gateway/customer.js';
import { Gateway } from '../support/gateway/gateway.js';
import { openInstanceStage, type InstanceStage } from '../support/instance/stage.js';
import { hasObjectStore, LEFT_OUT, ObjectStore } from '../support/servers/object-store.js';
import { residentMemory } from '../support/processes.js';
import { report } from '../support/gateway/check-traffic.js';
import { pause, realTime, until } from '../support/wait.js';

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

/** Samples the resident memory of programs while the work runs. @returns their growth in MB */
async function measureGrowth(
  programs: Record<string, number>,
  work: () => Promise<unknown>,
): Promise<Record<string, number>> {
  const named = Object.entries(programs).map(([name, pid]) => ({ name, pid, before: residentMemory(pid) }));
  const most = new Map(named.map(({ pid, before }) => [pid, before]));
  const watch = setInterval(() => {
    for (const { pid } of named) most.set(pid, Math.max(most.get(pid)!, residentMemory(pid)));
  }, SAMPLE_MS);
  try {
    await work();
  } finally {
    clearInterval(watch);
  }
  const growth = ({ pid, before }: (typeof named)[number]) => (most.get(pid)! - before) / MEGABYTE;
  return Object.fromEntries(named.map((one) => [one.name, Number(growth(one).toFixed(1))]));
}

describe('a large document', () => {
  // Worker and engine grow by up to 60 MB, whatever the size: V8 frees streamed buffers after about 64 MB.
  const MB = 128;
  let stage: InstanceStage;
  const block = randomBytes(MEGABYTE);
  const host = createServer((call, response) => {
    const mb = Number(call.url!.slice(1));
    response.setHeader('content-length', mb * MEGABYTE);
    Readable.from(Array.from({ length: mb }, () => block)).pipe(response);
  });
  beforeAll(async () => {
    const largest = { GWK_MEDIA_MAX_MB: '2000' };
    const settings = { api: largest, worker: largest };
    stage = await openInstanceStage('large', { gateway: { settings } });
    await once(host.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(async () => {
    host.close();
    await stage?.close();
  });

  /** The number sends it, and the person sends it back. */
  async function sendAndReceive(mb: number): Promise<void> {
    const { customer, contacts, phone, id } = stage;
    const [ana] = contacts;
    const url = `http://127.0.0.1:${(host.address() as AddressInfo).port}/${mb}`;
    const document = { media: { url }, caption: `${mb} MB` };
    const body = { instance_id: id, to: ana!.number, type: 'document', document };
    await customer.client.expect(202, 'POST', '/v1/messages', { body });
    const { documentMessage } = (await ana!.receives({ text: document.caption, limitMs: realTime(120_000) }))
      .message!;
    await ana!.writes({ documentMessage }, { to: phone.number });
    const received = async () => {
      const events = await customer.client.events({ type: 'message.received' });
      return events.map(({ data }) => (data as { media?: { size?: number; error?: string } }).media);
    };
    await until(async () => (await received()).some((media) => media?.size === mb * MEGABYTE), {
      what: `the file of ${mb} MB is stored`,
    });
  }

  test('needs less memory than its half in the API, the worker and the engine', async () => {
    const { gateway } = stage;
    const programs = {
      API: gateway.apis[0]!.pid!,
      worker: gateway.workers[0]!.pid!,
      engine: (await gateway.engine()).pid,
    };
    await sendAndReceive(9);
    const small = await measureGrowth(programs, () => sendAndReceive(10));
    const began = performance.now();
    const large = await measureGrowth(programs, () => sendAndReceive(MB));
    report(`a document of ${MB} MB, sent by URL and received`, {
      'grew by at most, MB': JSON.stringify(large),
      'a document of 10 MB, MB': JSON.stringify(small),
      'took, s': Number(((performance.now() - began) / 1000).toFixed(1)),
    });
    for (const growth of Object.values(large)) expect(growth).toBeLessThan(MB / 2);
  });
});

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
