import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { newUuid } from '@gwk/core/ids/ids';
import {
  createInternalApiWorld,
  sharedInternalApi,
  filesIn,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { until } from '@gwk/test/support/wait';
import { FolderStore } from '../media/store/folder-store.js';
import { openContent, sealContent } from '../messages/content.js';

let internalApi: InternalApiWorld;
let engine: TestEngine;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
  engine = await (await internalApi.addEngine()).acquire();
});
afterAll(() => internalApi.close());

const lease = (by: TestEngine) => ({ epoch: by.lease.epoch, holder: by.lease.holder });
const upload = (by: TestEngine, bytes: Buffer, named: Record<string, string> = {}, world = internalApi) => {
  const { epoch, holder } = lease(by);
  return world
    .clientWith(by.token)
    .upload({ epoch: String(epoch), holder, ...named }, Readable.from([bytes]));
};
const download = async (by: TestEngine, messageId: string) =>
  buffer(await internalApi.clientWith(by.token).download({ ...lease(by), message_id: messageId }));
const outcome = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: Error) => error.message,
  );

/** A queued message whose file was prepared. */
async function acceptPrepared(
  bytes: Buffer,
  to = '5511987650000',
  prepare = (file: string): object => ({ finished: { file } }),
): Promise<string> {
  const { media_id: file } = await upload(engine, bytes);
  const id = await internalApi.accept({ instance: engine.instanceId, to });
  const { database, sealer } = internalApi.world;
  const row = await database.messageContent.findUniqueOrThrow({ where: { messageId: id } });
  const content = JSON.parse(openContent(sealer, engine.instanceId, row.contentSealed)) as object;
  const sealed = sealContent(sealer, engine.instanceId, JSON.stringify({ ...content, ...prepare(file) }));
  await database.messageContent.update({
    where: { messageId: id },
    data: { contentSealed: new Uint8Array(sealed) },
  });
  return id;
}

test('stores a received file for its instance, with the type of its content', async () => {
  const bytes = Buffer.from('%PDF-1.7\n');
  const answer = await upload(engine, bytes, { mimetype: 'image/png', filename: 'a.pdf' });
  expect(answer).toEqual({
    media_id: expect.any(String) as string,
    mimetype: 'application/pdf',
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  });
  const row = await internalApi.world.database.media.findUniqueOrThrow({ where: { id: answer.media_id } });
  expect(row.instanceIds).toEqual([engine.instanceId]);
});

type WriteArguments = Parameters<FolderStore['write']>;

test('keeps the connection while the store takes longer than a silence', async () => {
  const silenceMs = 300;
  const world = await createInternalApiWorld({ silenceMs });
  const store: { write: (this: FolderStore, ...args: WriteArguments) => Promise<void> } =
    FolderStore.prototype;
  const { write } = store;
  store.write = async function (...args) {
    await write.apply(this, args);
    await sleep(3 * silenceMs);
  };
  try {
    const by = await (await world.addEngine()).acquire();
    expect((await upload(by, Buffer.from('slow'), {}, world)).size).toBe(4);
  } finally {
    store.write = write;
    await world.close();
  }
});

test.each([
  ['../../.ssh/authorized_keys', '_.._.ssh_authorized_keys'],
  ['..\\..\\boot.ini', '_.._boot.ini'],
  ['a\r\nX: y\u0000.pdf', 'aX: y.pdf'],
  ['invoice\u202efdp.exe', 'invoicefdp.exe'],
  ['Relatório (março).pdf', 'Relatório (março).pdf'],
  ['../..', '_..'],
  ['..', null],
])('sanitizes a file name %j to %j', async (given, expected) => {
  const { media_id: id } = await upload(engine, Buffer.from('a'), { filename: given });
  const row = await filesIn('', internalApi.world.database, internalApi.world.sealer).find(id);
  expect(row!.filename).toBe(expected);
});

test('an engine downloads the prepared file of a message only after it has claimed the message', async () => {
  const bytes = randomBytes(300_000);
  const id = await acceptPrepared(bytes);
  expect(await outcome(download(engine, id))).toBe('the internal API refused the call: invalid');
  await engine.claim(10);
  expect((await download(engine, id)).equals(bytes)).toBe(true);
  const other = await (await internalApi.addEngine()).acquire();
  expect(await outcome(download(other, id))).toBe('the internal API refused the call: invalid');
});

test('an engine downloads the picture of a link preview', async () => {
  const bytes = randomBytes(30_000);
  const id = await acceptPrepared(bytes, '5511987650005', (file) => ({ preview: { picture: { file } } }));
  await engine.claim(10);
  expect((await download(engine, id)).equals(bytes)).toBe(true);
});

test('an ended lease can neither download nor upload', async () => {
  const stale = { ...engine, lease: { ...lease(engine), holder: newUuid() } } as TestEngine;
  expect(await outcome(download(stale, newUuid()))).toBe('the internal API refused the call: fenced');
  expect(await outcome(upload(stale, Buffer.from('a')))).toBe('the internal API refused the call: fenced');
});

test('stores received files above the limit of uploads, and refuses them at four times the limit', async () => {
  const { database, accountId } = internalApi.world;
  const where = { accountId };
  const { mediaFiles } = await database.accountUsage.findUniqueOrThrow({ where });
  await database.account.update({ where: { id: accountId }, data: { maxMediaFiles: mediaFiles } });
  await upload(engine, Buffer.from('a'));
  await database.accountUsage.update({ where, data: { mediaFiles: mediaFiles * 4 } });
  expect(await outcome(upload(engine, Buffer.from('a')))).toBe('the internal API refused the call: invalid');
  const stored = await database.media.count({ where: { ...where, removedAt: null } });
  expect(stored).toBe(mediaFiles + 1);
  await database.account.update({ where: { id: accountId }, data: { maxMediaFiles: null } });
});

test('refuses a file that is larger than permitted, by its stated size and by its bytes', async () => {
  const limit = 100 * 1_048_576;
  const refused = 'the internal API refused the call: too-large';
  expect(await outcome(upload(engine, Buffer.from('a'), { size: String(limit + 1) }))).toBe(refused);
  expect(await outcome(upload(engine, Buffer.alloc(limit + 1), { size: '1' }))).toBe(refused);
  expect(await outcome(upload(engine, Buffer.alloc(limit)))).toBe('done');
});

test('an engine may upload four files at once; others are not affected', async () => {
  const other = await (await internalApi.addEngine()).acquire();
  const refused = 'the internal API answered 503';
  const sources: Readable[] = [];
  const ends: string[] = [];
  const uploads = Array.from({ length: 6 }, async () => {
    const source = new Readable({ read() {} }).on('error', () => undefined);
    source.push('begun');
    sources.push(source);
    const named = { epoch: String(engine.lease.epoch), holder: engine.lease.holder };
    ends.push(await outcome(internalApi.clientWith(engine.token).upload(named, source)));
  });
  // All six have reached the API: one that arrives after the end of another is not refused.
  await until(() => ends.length === 2, { what: 'two uploads are refused' });
  expect(ends).toEqual([refused, refused]);
  expect(await outcome(upload(other, Buffer.from('a')))).toBe('done');
  for (const source of sources) source.push(null);
  await Promise.all(uploads);
  expect(ends.slice(2)).toEqual(['done', 'done', 'done', 'done']);
  expect(await outcome(upload(engine, Buffer.from('a')))).toBe('done');
});
