import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { FinishedMedia } from '@gwk/core/resources/finished-media';
import type { OutboundContent } from '@gwk/core/resources/message';
import { createLogger } from '@gwk/core/process/log';
import { createWorld, someone, toUuid, type World } from '@gwk/test/support/api/acceptance';
import { filesIn } from '@gwk/test/support/api/internal-api';
import { ManualClock } from '@gwk/test/support/clock';
import { until } from '@gwk/test/support/wait';
import type { Acceptor } from '../../messages/send/acceptor.js';
import type { SendNotification, SendNotifier } from '../../messages/send-notifier.js';
import { openContent } from '../../messages/content.js';
import { FileRefused, type ToolAnswer, type ToolJob } from '@gwk/core/decoder/jobs';
import { longestFetchMs } from './finish.js';
import { DecodedFiles } from './decoded-files.js';
import { DecoderQueue } from './decoder-queue.js';
import type { Fetcher } from './fetcher.js';
import { Preparer, type PreparationResult } from './preparer.js';

let world: World;
let acceptor: Acceptor;
let folder: string;
beforeAll(async () => {
  world = await createWorld(1);
  acceptor = world.acceptor({ policy: { new_contacts_per_day: 100_000 } });
  folder = await mkdtemp(join(tmpdir(), 'gwk-preparer-'));
});
afterEach(() => world.database.outboxEntry.deleteMany());
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await world.close();
});

type Body = (url: URL, signal: AbortSignal) => Promise<Readable>;

type Tool = (job: ToolJob) => Promise<ToolAnswer>;
const noTool: Tool = () => Promise.reject(new Error('not used'));

function openPreparer(read: Body, clock = new ManualClock(), run = noTool) {
  const notified: SendNotification[] = [];
  const results: PreparationResult[] = [];
  const fetcher = {
    fetch: async (text: string, _: number, signal: AbortSignal) => {
      const url = new URL(text);
      return { body: await read(url, signal), type: undefined, name: 'a.png', url };
    },
  };
  const sendNotifier = { notify: (all: SendNotification[]) => Promise.resolve(void notified.push(...all)) };
  const preparer = new Preparer({
    db: world.database,
    sealer: world.sealer,
    sendNotifier: sendNotifier as unknown as SendNotifier,
    log: createLogger('test', 'fatal'),
    files: filesIn(folder, world.database, world.sealer),
    fetcher: fetcher as unknown as Fetcher,
    decoded: new DecodedFiles({ db: world.database, sealer: world.sealer }),
    tools: { run },
    decoders: new DecoderQueue({ decoders: 2 }),
    folder,
    fetchMs: 600_000,
    onResult: (result) => results.push(result),
    options: { concurrency: 24 },
    clock,
  });
  return { preparer, notified, results, clock };
}

/** Sends a file by URL and returns the message's id. */
async function sendFile(type: string, url: string, to = someone()): Promise<string> {
  const { message } = await world.send(acceptor, {
    to,
    extra: { type, text: undefined, [type]: { media: { url } } },
  });
  return toUuid(message.id);
}

const sendDocument = (url: string, to?: string) => sendFile('document', url, to);
const find = (messageId: string) => world.database.outboxEntry.findUnique({ where: { messageId } });
const isPrepared = (id: string) => async () => (await find(id))?.prepared === true;
const aFile = () => Promise.resolve(Readable.from([Buffer.from('a file')]));
const never: Body = (_, signal) =>
  new Promise((__, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

test('slow hosts of an account delay no message that needs another host', async () => {
  for (let i = 0; i < 40; i++) await sendDocument(`https://slow${i % 4}.example.com/${i}`);
  const fast = await sendDocument('https://fast.example.com/a.txt');
  const { preparer } = openPreparer((url, signal) =>
    url.hostname.startsWith('slow') ? never(url, signal) : aFile(),
  );
  await until(
    async () => {
      await preparer.pass();
      return isPrepared(fast)();
    },
    { what: 'the message of the fast host is prepared' },
  );
  const waiting = await world.database.outboxEntry.findMany({ where: { prepared: false } });
  expect(waiting).toHaveLength(40);
  // A message that was returned has not lost an attempt.
  expect(waiting.filter(({ prepareAttempts }) => prepareAttempts > 0)).toHaveLength(8);
  await preparer.stop();
});

test('files of one conversation delay no other conversation', async () => {
  const to = someone();
  for (let i = 0; i < 40; i++) await sendDocument(`https://host${i}.example.com/`, to);
  const other = await sendDocument('https://fast.example.com/');
  const { preparer } = openPreparer((url, signal) =>
    url.hostname.startsWith('host') ? never(url, signal) : aFile(),
  );
  await preparer.pass();
  await until(isPrepared(other), { what: 'the other conversation continues' });
  await preparer.stop();
});

test('notifies the engine when a file has failed, so that the text behind it leaves at once', async () => {
  const to = someone();
  await sendDocument('https://example.com/', to);
  await world.send(acceptor, { to, text: 'behind it' });
  const { preparer, notified, results } = openPreparer(() => Promise.resolve(Readable.from([])));
  await preparer.pass();
  await until(() => results.length > 0 && notified.length > 0, { what: 'the engine is notified' });
  expect(results).toEqual(['unavailable']);
  expect(notified[0]!.instanceId).toBe(world.instances[0]);
});

test('refuses an endless file at once', async () => {
  const id = await sendDocument('https://example.com/');
  const { preparer, results } = openPreparer(() =>
    Promise.resolve(
      new Readable({
        read() {
          this.push(Buffer.alloc(1_000_000));
        },
        // As undici does for a body that is not read to its end.
        destroy: (error, done) => done(error ?? new Error('aborted')),
      }),
    ),
  );
  await preparer.pass();
  await until(() => results.length > 0, { what: 'the attempt ends' });
  expect(results).toEqual(['unavailable']);
  expect(await find(id)).toBeNull();
});

test('sends a document of more than 64 MB, and no picture of that size', async () => {
  const picture = await sendFile('image', 'https://example.com/a.png');
  const document = await sendDocument('https://example.com/a.zip');
  // The store frees the buffers.
  const large = () => Array.from({ length: 65 }, () => Buffer.alloc(1_048_576, 'x'));
  const { preparer, results } = openPreparer(() => Promise.resolve(Readable.from(large())));
  await preparer.pass();
  await until(() => results.length === 2, { what: 'both attempts end' });
  expect(await isPrepared(document)()).toBe(true);
  const { contentSealed } = await world.database.messageContent.findUniqueOrThrow({
    where: { messageId: document },
  });
  const content = JSON.parse(
    openContent(world.sealer, world.instances[0]!, contentSealed),
  ) as OutboundContent;
  expect(content.finished?.size).toBe(65 * 1_048_576);
  const refused = await world.database.message.findFirstOrThrow({ where: { id: picture } });
  expect([refused.status, refused.errorMessage]).toEqual(['failed', 'the file is too large']);
});

test('gives a larger file proportionally more time', () => {
  expect([16, 64, 100, 2_000].map((mb) => longestFetchMs(60_000, mb * 1_048_576))).toEqual([
    60_000, 60_000, 93_750, 1_875_000,
  ]);
});

test.each(['ECONNRESET', 'HPE_INVALID_CHUNK_SIZE', 'EPROTO', 'Z_DATA_ERROR', undefined])(
  'tries a download that breaks with %s three times',
  async (code) => {
    const id = await sendDocument('https://example.com/');
    async function* breaking() {
      yield Buffer.from('a ');
      await Promise.reject(Object.assign(new Error('broken'), { code }));
    }
    const { preparer, results } = openPreparer(() => Promise.resolve(Readable.from(breaking())));
    for (const expected of [1, 2, 3]) {
      await world.database.outboxEntry.updateMany({ data: { prepareAt: null } });
      await preparer.pass();
      await until(() => results.length === expected, { what: `attempt ${expected} has ended` });
    }
    expect(results).toEqual(['retried', 'retried', 'unavailable']);
    await until(async () => (await find(id)) === null, { what: 'the message has failed' });
    const message = await world.database.message.findFirst({ where: { id } });
    expect(message?.errorMessage).toBe('the file could not be fetched (connection lost)');
  },
);

test('renews the claims of running preparations', async () => {
  const id = await sendDocument('https://example.com/');
  const { preparer, clock } = openPreparer(never);
  await preparer.pass();
  const due = async () => (await find(id))!.prepareAt!.getTime();
  await world.database.outboxEntry.update({ where: { messageId: id }, data: { prepareAt: new Date(0) } });
  clock.advance(20_000);
  await preparer.pass();
  expect(await due()).toBeGreaterThan(Date.now());
  await preparer.stop();
  expect(await due()).toBeLessThanOrEqual(Date.now() + 1_000);
});

/** Bytes that are sniffed as a picture of the format, different for each text. */
const picture = (format: 'png' | 'webp', text: string): Buffer =>
  format === 'png'
    ? Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.from(text)])
    : Buffer.concat([Buffer.from('RIFF\x24\0\0\0WEBPVP8 '), Buffer.from(text)]);

async function prepareFour(format: 'png' | 'webp', text: string, run: Tool) {
  const ids: string[] = [];
  for (let i = 0; i < 4; i++) ids.push(await sendFile('image', `https://host${i}.example.com/`));
  const read = () => Promise.resolve(Readable.from([picture(format, text)]));
  // Two workers with memories of their own.
  const workers = [openPreparer(read, undefined, run), openPreparer(read, undefined, run)];
  const [first, second] = workers as [(typeof workers)[0], (typeof workers)[0]];
  const done = () => workers.flatMap(({ results }) => results);
  await world.database.outboxEntry.updateMany({
    where: { messageId: { in: ids.slice(2) } },
    data: { prepareAt: new Date('2100-01-01') },
  });
  await first.preparer.pass();
  await until(() => done().length === 2, { what: 'the first worker has ended' });
  await world.database.outboxEntry.updateMany({
    where: { messageId: { in: ids.slice(2) } },
    data: { prepareAt: null },
  });
  await second.preparer.pass();
  await until(() => done().length === 4, { what: 'the second worker has ended' });
  return { ids, results: done() };
}

async function readFinished(messageId: string): Promise<FinishedMedia> {
  const row = await world.database.messageContent.findUniqueOrThrow({ where: { messageId } });
  const content = JSON.parse(openContent(world.sealer, row.instanceId, row.contentSealed)) as OutboundContent;
  return content.finished!;
}

test('decodes a file once for all messages and workers', async () => {
  const run = jest.fn(() => Promise.resolve({ width: 3, height: 2, thumbnail: 'dGh1bWI=' }));
  const { ids, results } = await prepareFour('png', 'kept', run);
  expect(results).toEqual(Array(4).fill('prepared'));
  expect(run).toHaveBeenCalledTimes(1);
  const finished = await Promise.all(ids.map(readFinished));
  expect(finished.map(({ width, thumbnail }) => [width, thumbnail])).toEqual(Array(4).fill([3, 'dGh1bWI=']));
});

test('gives each message a converted file of its own, until the first one is deleted', async () => {
  const run = jest.fn(async ({ output }: ToolJob) => {
    await writeFile(output, 'converted');
    return { width: 3, height: 2, converted: true };
  });
  const { ids } = await prepareFour('webp', 'converts', run);
  expect(run).toHaveBeenCalledTimes(1);
  const finished = await Promise.all(ids.map(readFinished));
  expect(new Set(finished.map(({ file }) => file)).size).toBe(4);
  expect(new Set(finished.map(({ sha256 }) => sha256)).size).toBe(1);
  await world.database.media.deleteMany({ where: { id: { in: finished.map(({ file }) => file) } } });
  await prepareFour('webp', 'converts', run);
  expect(run).toHaveBeenCalledTimes(2);
});

test('decodes a file again if the store cannot read the converted one', async () => {
  const run = jest.fn(async ({ output }: ToolJob) => {
    await writeFile(output, 'converted');
    return { width: 3, height: 2, converted: true };
  });
  const text = 'converts, then breaks';
  const { ids } = await prepareFour('webp', text, run);
  for (const { file } of await Promise.all(ids.map(readFinished))) {
    const { storeKey } = await world.database.media.findUniqueOrThrow({ where: { id: file } });
    const path = join(folder, storeKey.slice(-2), storeKey, 'file');
    await rm(path);
    await mkdir(path);
  }
  const { results } = await prepareFour('webp', text, run);
  expect(results).toEqual(Array(4).fill('prepared'));
  expect(run).toHaveBeenCalledTimes(2);
});

test('remembers that a file was refused', async () => {
  const run = jest.fn(() => Promise.reject(new FileRefused('the picture cannot be decoded')));
  const { results } = await prepareFour('png', 'refused', run);
  expect(results).toEqual(Array(4).fill('unavailable'));
  expect(run).toHaveBeenCalledTimes(1);
});

test('does not remember faults of the machine', async () => {
  const run = jest.fn(() => Promise.reject(new Error('no ffmpeg')));
  const { results } = await prepareFour('png', 'fault', run);
  expect(results).toEqual(Array(4).fill('retried'));
  expect(run).toHaveBeenCalledTimes(4);
});
