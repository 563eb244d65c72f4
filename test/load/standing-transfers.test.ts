import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import type { MediaOut } from '@gwk/core/resources/media';
import type { MessageOut } from '@gwk/core/resources/message';
import { StandingTransfers } from '../support/api/standing-transfers.js';
import { report } from '../support/gateway/check-traffic.js';
import { newCustomer, type Customer } from '../support/gateway/customer.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { residentMemory } from '../support/processes.js';
import { hasObjectStore, LEFT_OUT, ObjectStore } from '../support/servers/object-store.js';
import { pause, realTime, until } from '../support/wait.js';

const MB = 1024 * 1024;
const TRANSFERS = 1_000;
/**
 * `make transfers` raises the bound so that the API holds all. By default a process holds at most 400 of each kind, an account
 * a quarter of them, and the API refuses the others.
 */
const HOLD_ALL = process.env['HOLD_ALL'] === 'true';
const BOUNDS: Record<string, string> = HOLD_ALL
  ? { GWK_API_MAX_DOWNLOADS: '1200', GWK_API_MAX_UPLOADS: '1200' }
  : {};
const ACCOUNTS = HOLD_ALL ? 10 : 3;
const HELD_OF_ACCOUNT = 100;
const HELD = ACCOUNTS * HELD_OF_ACCOUNT;
const FILES = 5;
const ADDRESSES = 10;
/** More than the kernel buffers for a client that does not read. */
const FILE_BYTES = 6 * MB;
/** Bytes that a standing upload sends of its file. They are fewer than one part of an upload to a bucket. */
const SENT_BYTES = 256 * 1024;
const MAX_GROWTH_MB = 64;
/** A standing upload is ended after 20 s without a byte. */
const BYTE_EVERY_MS = 3_000;
const ORDINARY_MS = 5_000;

describe('with a folder', () => testStandingTransfers('a folder'));
if (hasObjectStore) describe('with a bucket', () => testStandingTransfers('a bucket'));
else describe.skip(LEFT_OUT, () => testStandingTransfers('a bucket'));

function testStandingTransfers(store: string): void {
  let stage: Stage;
  let objects: ObjectStore | undefined;
  const others: Customer[] = [];
  const standing = new StandingTransfers();
  beforeAll(async () => {
    if (store === 'a bucket') objects = await ObjectStore.start();
    const worker = objects?.environment ?? {};
    const api = { ...worker, ...BOUNDS };
    stage = await openStage('transfers', { settings: { api, worker } });
    for (let i = 0; i < ACCOUNTS; i++) others.push(await newCustomer(stage.gateway, `standing-${i}`));
  });
  afterEach(async () => {
    standing.leave();
    await until(async () => (await inTransfer('download')) + (await inTransfer('upload')) === 0, {
      what: 'no transfer is left',
    });
  });
  afterAll(async () => {
    for (const other of others) other.close();
    await stage?.close();
    await objects?.stop();
  });

  const url = () => stage.gateway.urls[0]!;
  const port = () => Number(new URL(url()).port);
  const megabytes = () => residentMemory(stage.gateway.apis[0]!.pid!) / MB;
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${url()}/metrics`)).text();
    const line = text.split('\n').find((found) => found.startsWith(`${name} `));
    return Number(line?.slice(name.length));
  };
  const inTransfer = (kind: string) => metric(`gwk_media_transfers{kind="${kind}"}`);

  async function upload({ key }: Customer, bytes: Buffer): Promise<MediaOut> {
    const form = new FormData();
    form.append('file', new Blob([bytes]), 'a.bin');
    const headers = { authorization: `Bearer ${key.api_key}` };
    const answer = await fetch(`${url()}/v1/media`, { method: 'POST', headers, body: form });
    expect(answer.status).toBe(201);
    return (await answer.json()) as MediaOut;
  }

  /** An upload, its download, and the same file in a message, which an engine downloads. */
  async function transferOrdinaryFile(): Promise<number> {
    const bytes = randomBytes(2 * MB);
    const began = performance.now();
    const { id, url: link } = await upload(stage.customer, bytes);
    const downloaded = await (await fetch(link!)).bytes();
    expect(Buffer.compare(downloaded, bytes)).toBe(0);
    const document = { media: { media_id: id } };
    const body = { instance_id: stage.instance.id, to: testPhone(1), type: 'document', document };
    const { client } = stage.customer;
    const message = await client.expect<MessageOut>(202, 'POST', '/v1/messages', { body });
    await until(() => client.hasLeft(message.id), { what: 'the file is sent' });
    return performance.now() - began;
  }

  /** The links of all files that are downloaded. */
  async function uploadFiles(): Promise<string[]> {
    const bytes = randomBytes(FILE_BYTES);
    const links: string[] = [];
    for (const other of others) {
      for (let i = 0; i < FILES; i++) links.push((await upload(other, bytes)).url!);
    }
    return links;
  }

  async function standDownloads(links: string[]): Promise<void> {
    for (let i = 0; i < TRANSFERS; i++) {
      const from = `127.0.0.${1 + (i % ADDRESSES)}`;
      await standing.download(links[i % links.length]!, { port: port(), from });
    }
  }

  async function standUploads(): Promise<() => void> {
    const sockets: Socket[] = [];
    for (const { key } of others) {
      for (let i = 0; i < Math.floor(TRANSFERS / ACCOUNTS); i++) {
        sockets.push(await standing.upload(key.api_key, { port: port(), bytes: SENT_BYTES }));
      }
    }
    const timer = setInterval(() => sockets.forEach((socket) => socket.write('a')), BYTE_EVERY_MS);
    return () => clearInterval(timer);
  }

  const KINDS: [kind: string, stand: (links: string[]) => Promise<void | (() => void)>][] = [
    ['download', standDownloads],
    ['upload', standUploads],
  ];
  test.each(KINDS)(
    `beside ${TRANSFERS} standing %ss, files are transferred as usual`,
    async (kind, stand) => {
      for (let i = 0; i < 3; i++) await transferOrdinaryFile();
      const alone = await transferOrdinaryFile();
      const links = await uploadFiles();
      const before = megabytes();
      const stop = await stand(links);
      try {
        await until(async () => (await inTransfer(kind)) === HELD, { what: 'as many as possible are held' });
        await pause(5_000);
        expect(await metric(`gwk_media_transfers_limited_total{kind="${kind}",limit="process"}`)).toBe(0);
        const growth = megabytes() - before;
        const beside = await transferOrdinaryFile().catch((error: unknown) => error);
        report(`${TRANSFERS} standing ${kind}s, ${store}`, {
          'API resident before, MB': Math.round(before),
          'grew by, MB': Math.round(growth),
          'an ordinary file alone, ms': Math.round(alone),
          'beside them, ms': Math.round(beside as number),
        });
        expect(growth).toBeLessThan(MAX_GROWTH_MB);
        expect(beside).toBeLessThan(realTime(ORDINARY_MS));
      } finally {
        stop?.();
      }
    },
  );
}
