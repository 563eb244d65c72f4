import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MediaOut } from '@gwk/core/resources/media';
import { newCustomer, type Customer } from '../support/gateway/customer.js';
import { Gateway } from '../support/gateway/gateway.js';
import { hasObjectStore, LEFT_OUT, ObjectStore } from '../support/servers/object-store.js';
import { testPhone } from '../support/gateway/traffic.js';
import { realTime, until } from '../support/wait.js';

/** A media store that is full or unavailable, and an API that is killed while it writes. */
const MB = 1024 * 1024;

function form(size: number): { head: string; tail: string; type: string; length: number } {
  const head =
    '--edge\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n' +
    'content-type: application/octet-stream\r\n\r\n';
  const tail = '\r\n--edge--\r\n';
  return { head, tail, type: 'multipart/form-data; boundary=edge', length: head.length + size + tail.length };
}

async function upload(url: string, key: string, size: number): Promise<{ status: number; body: MediaOut }> {
  const { head, tail, type } = form(size);
  const body = Buffer.concat([Buffer.from(head), Buffer.alloc(size, 7), Buffer.from(tail)]);
  const headers = { authorization: `Bearer ${key}`, 'content-type': type };
  const response = await fetch(`${url}/v1/media`, { method: 'POST', headers, body });
  return { status: response.status, body: (await response.json()) as MediaOut };
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

const isRoot = process.getuid?.() === 0;
const small = mkdtempSync(join(tmpdir(), 'gwk-small-disk-'));
const mounted = isRoot && spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', small]).status === 0;
afterAll(() => {
  if (mounted) spawnSync('umount', ['-l', small]);
  rmSync(small, { recursive: true, force: true });
});

describe('a folder', () => {
  let gateway: Gateway;
  let customer: Customer;
  let instance: string;
  const folder = join(small, 'media');
  beforeAll(async () => {
    mkdirSync(folder);
    const settings = { GWK_MEDIA_FOLDER: folder };
    gateway = await Gateway.start({ settings: { api: settings, worker: settings } });
    customer = await newCustomer(gateway, 'disk');
    instance = (await customer.client.connectedInstance('disk')).id;
  });
  afterAll(async () => {
    customer?.close();
    await gateway?.stop();
  });

  const key = () => customer.key.api_key;
  const url = () => gateway.urls[0]!;
  const expectTextSent = async (text: string) => {
    const { id } = await customer.client.acceptedText(instance, testPhone(1), text);
    await until(() => customer.client.hasLeft(id), { what: `${text}: texts are sent` });
  };

  // Machines that do not permit mounts skip and count this test.
  (mounted ? test : test.skip)(
    'when full, refuses an upload without leaving files, sends texts, and accepts a smaller upload later',
    async () => {
      expect((await upload(url(), key(), 2 * MB)).status).toBe(201);
      const before = filesIn(folder).length;
      const refused = await upload(url(), key(), 8 * MB);
      expect(refused.status).toBe(500);
      await until(() => filesIn(folder).length === before, { what: 'no file of it is left' });
      await expectTextSent('on a full disk');
      expect((await upload(url(), key(), 2 * MB)).status).toBe(201);
      expect(gateway.apis[0]!.deaths).toEqual([]);
    },
  );

  test('when the API is killed during uploads, keeps finished files complete and removes partial ones', async () => {
    const whole = await upload(url(), key(), 64 * 1024);
    expect(whole.status).toBe(201);
    const { head, type, length } = form(2 * MB);
    const sockets = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const socket = connect(Number(new URL(url()).port), '127.0.0.1');
        socket.on('error', () => undefined);
        await once(socket, 'connect');
        socket.write(
          `POST /v1/media HTTP/1.1\r\nHost: gwk\r\nAuthorization: Bearer ${key()}\r\n` +
            `Content-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n${head}`,
        );
        socket.write(Buffer.alloc(MB / 8, 1));
        return socket;
      }),
    );
    const parts = () => filesIn(folder).filter((name) => name.endsWith('.part')).length;
    await until(() => parts() >= 4, { what: 'the files are being written' });
    await gateway.apis[0]!.kill('SIGKILL');
    for (const socket of sockets) socket.destroy();
    await gateway.apis[0]!.ready();

    const { body } = await customer.client.call<MediaOut>('GET', `/v1/media/${whole.body.id}`);
    const file = await fetch(body.url!);
    expect([file.status, (await file.arrayBuffer()).byteLength]).toEqual([200, 64 * 1024]);
    expect((await upload(url(), key(), 1024)).status).toBe(201);
    // Partial files are listed in store_removals, and the test makes their time come.
    await customer.client.acceptedText(instance, testPhone(2), 'after the kill');
    const { default: pg } = await import('pg');
    const client = new pg.Client({ connectionString: gateway.settings.databaseUrl });
    await client.connect();
    const { rowCount } = await client.query('UPDATE store_removals SET due_at = now()');
    await client.end();
    expect(rowCount).toBeGreaterThanOrEqual(4);
    await until(() => parts() === 0, { what: 'partial files are removed', timeoutMs: realTime(120_000) });
    expect(existsSync(folder)).toBe(true);
  });
});

(hasObjectStore ? describe : describe.skip)(hasObjectStore ? 'a bucket' : LEFT_OUT, () => {
  let gateway: Gateway;
  let customer: Customer;
  let store: ObjectStore;
  beforeAll(async () => {
    store = await ObjectStore.start();
    const settings = store.environment;
    gateway = await Gateway.start({ settings: { api: settings, worker: settings } });
    customer = await newCustomer(gateway, 'bucket');
  });
  afterAll(async () => {
    customer?.close();
    await gateway?.stop();
    await store?.stop();
  });

  test('when unavailable, answers 500 for files in time, sends texts, and no program exits', async () => {
    const url = gateway.urls[0]!;
    const { api_key: key } = customer.key;
    const kept = await upload(url, key, 4096);
    expect(kept.status).toBe(201);
    const instance = await customer.client.connectedInstance('bucket');
    await store.stop();
    const began = performance.now();
    const [refused, link] = await Promise.all([
      upload(url, key, 4096),
      fetch(kept.body.url!).then(({ status }) => status),
    ]);
    expect(refused.status).toBe(500);
    expect(link).toBe(500);
    expect(performance.now() - began).toBeLessThan(realTime(60_000));
    const { id } = await customer.client.acceptedText(instance.id, testPhone(1), 'without a bucket');
    await until(() => customer.client.hasLeft(id), { what: 'texts are sent' });
    expect(gateway.programs.flatMap(({ deaths }) => deaths)).toEqual([]);
  });
});
