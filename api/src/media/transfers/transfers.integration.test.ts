import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fromPublicId } from '@gwk/core/ids/ids';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { MediaOut } from '@gwk/core/resources/media';
import { openApi } from '@gwk/test/support/api/open-api';
import { StandingTransfers } from '@gwk/test/support/api/standing-transfers';
import type { ApiClient } from '@gwk/test/support/api/client';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { noise, upload } from '@gwk/test/support/api/upload';
import { ManualClock } from '@gwk/test/support/clock';
import { pause, until } from '@gwk/test/support/wait';
import { LOOK_EVERY_MS, MAX_CREDIT_MS } from './pace.js';

/** With the smallest bounds: 5 downloads of a file, 10 of an address, 25 of an account, 100 in all. */
const SETTINGS = { GWK_API_MAX_DOWNLOADS: '100', GWK_API_MAX_UPLOADS: '100', GWK_API_TRUST_PROXY: '1' };
const OF_FILE = 5;
const OF_ADDRESS = 10;
/** More than the kernel takes for a client that does not read. */
const LARGE = 8_000_000;

const clock = new ManualClock();
let api: TestApi;
let client: ApiClient;
let key: string;
const standing = new StandingTransfers();
beforeAll(async () => {
  api = await openApi({ settings: SETTINGS, clock });
  const account = await api.account();
  ({ key } = await api.key(account));
  client = api.client(key);
});
afterEach(async () => {
  standing.leave();
  await untilInTransfer('download', 0);
  await untilInTransfer('upload', 0);
});
afterAll(() => api?.stop());

const at = () => ({ port: api.port });
const send = async (size = LARGE): Promise<string> =>
  (await upload<MediaOut>(client, [{ name: 'file', filename: 'a', content: noise(size) }])).body.url!;
const get = (link: string, headers: Record<string, string> = {}): Promise<Response> => {
  const { pathname, search } = new URL(link);
  return fetch(`http://127.0.0.1:${api.port}${pathname}${search}`, { headers });
};
const problemOf = async (answer: Response): Promise<[number, string, boolean]> => {
  const { type } = (await answer.json()) as ProblemBody;
  return [answer.status, type.split('/').at(-1)!, Number(answer.headers.get('retry-after')) > 0];
};
async function metric(name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${api.port}/metrics`)).text();
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))!
      .split(' ')
      .at(-1),
  );
}
const untilInTransfer = (kind: string, count: number) =>
  until(async () => (await metric(`gwk_media_transfers{kind="${kind}"}`)) === count, {
    what: `${count} of ${kind}`,
  });

describe('a download', () => {
  test('is refused beside five others of its file, except HEAD; ranges of other files are sent', async () => {
    const [link, video] = [await send(), await send()];
    for (let i = 0; i < OF_FILE; i++) await standing.download(link, at());
    await untilInTransfer('download', OF_FILE);
    expect(await problemOf(await get(link))).toEqual([429, 'too-many-transfers', true]);
    await standing.download(video, at());
    for (const range of ['bytes=0-99', 'bytes=7000000-7000099']) {
      const part = await get(video, { range });
      expect([part.status, (await part.bytes()).length]).toEqual([206, 100]);
    }
    standing.leave();
    await untilInTransfer('download', 0);
    expect((await (await get(link)).bytes()).length).toBe(LARGE);
  });

  test('is refused without a query if its file or its address has as many as it may have', async () => {
    const link = await send();
    for (let i = 0; i < OF_FILE; i++) await standing.download(link, at());
    await untilInTransfer('download', OF_FILE);
    const id = fromPublicId('media', new URL(link).pathname.split('/').at(-1)!)!;
    await api.db.media.update({ where: { id }, data: { removedAt: new Date() } });
    expect(await problemOf(await get(link))).toEqual([429, 'too-many-transfers', true]);
    expect((await get(link, { 'if-none-match': '"a"' })).status).toBe(410);
  });

  test('counts for the address that the proxy reports', async () => {
    const links = [await send(), await send(), await send()];
    const from = (address: string) => ({ 'x-forwarded-for': `9.9.9.9, ${address}` });
    for (let i = 0; i < OF_ADDRESS; i++) {
      const headers = 'X-Forwarded-For: 9.9.9.9, 203.0.113.1\r\n';
      await standing.download(links[Math.floor(i / OF_FILE)]!, { ...at(), headers });
    }
    await untilInTransfer('download', OF_ADDRESS);
    expect(await problemOf(await get(links[2]!, from('203.0.113.1')))).toEqual([
      429,
      'too-many-transfers',
      true,
    ]);
    expect((await (await get(links[2]!, from('203.0.113.2'))).bytes()).length).toBe(LARGE);
  });

  test('that is behind others on a closed connection is no longer counted', async () => {
    const link = await send();
    const { pathname, search } = new URL(link);
    const socket = await standing.download(link, at());
    const more = `GET ${pathname}${search} HTTP/1.1\r\nHost: gwk\r\n\r\n`;
    socket.write(more.repeat(2));
    await untilInTransfer('download', 3);
    socket.destroy();
    await untilInTransfer('download', 0);
  });

  test('whose client reads less than the minimum rate ends', async () => {
    // A client that reads a little makes the kernel buffer whole files.
    const socket = await standing.download(await send(), at());
    await untilInTransfer('download', 1);
    const before = await metric('gwk_media_transfers_limited_total{kind="download",limit="rate"}');
    await until(
      async () => {
        clock.advance(MAX_CREDIT_MS + LOOK_EVERY_MS);
        return (await metric('gwk_media_transfers{kind="download"}')) === 0;
      },
      { what: 'it ends' },
    );
    expect(await metric('gwk_media_transfers_limited_total{kind="download",limit="rate"}')).toBe(before + 1);
    const ended = once(socket, 'close');
    socket.resume();
    await ended;
  });

  test('returns the bytes of its file, also if it waits for others again and again', async () => {
    const files = Array.from({ length: 4 }, () => randomBytes(LARGE));
    const links = await Promise.all(
      files.map(async (content) => {
        const parts = [{ name: 'file', filename: 'a', content }];
        return (await upload<MediaOut>(client, parts)).body.url!;
      }),
    );
    const downloads = links.flatMap((link, i) =>
      Array.from({ length: OF_FILE }, async (_, j) => {
        const answer = await get(link, { 'x-forwarded-for': `203.0.113.${10 + j}` });
        const received: Uint8Array[] = [];
        for await (const bytes of answer.body!) {
          // Longer than a window waits, so that some are given up.
          if (received.length % 40 === 0) await pause(300);
          received.push(bytes);
        }
        return Buffer.concat(received).compare(files[i]!);
      }),
    );
    expect(await Promise.all(downloads)).toEqual(Array(files.length * OF_FILE).fill(0));
  });

  test('of an empty range is answered without a transfer', async () => {
    expect((await get(await send(10), { range: 'bytes=10-' })).status).toBe(416);
  });
});

describe('an upload', () => {
  test('that ends in any way is no longer counted', async () => {
    const bad = (content: string) =>
      fetch(`http://127.0.0.1:${api.port}/v1/media`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'multipart/form-data; boundary=b' },
        body: content,
      });
    await send(10);
    expect((await bad('--b\r\nno form')).status).toBe(422);
    expect((await bad('--b--\r\n')).status).toBe(422);
    expect((await upload(client, [{ name: 'file', filename: 'a', content: '' }])).status).toBe(422);
    const socket = await standing.upload(key, { ...at(), bytes: 100_000 });
    await untilInTransfer('upload', 1);
    socket.destroy();
    await untilInTransfer('upload', 0);
  });

  test('below the minimum rate is answered validation-error', async () => {
    const socket = await standing.upload(key, { ...at(), bytes: 100 });
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    await untilInTransfer('upload', 1);
    clock.advance(MAX_CREDIT_MS + LOOK_EVERY_MS);
    await until(() => answer.includes('"timeout"'), { what: 'it is answered' });
    expect(answer).toMatch(/^HTTP\/1\.1 422 /);
  });
});
