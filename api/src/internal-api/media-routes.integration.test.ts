import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { newUuid } from '@gwk/core/ids';
import {
  sharedInternalApi,
  filesIn,
  type InternalApiWorld,
  type TestEngine,
} from '@gwk/test/support/api/internal-api';
import { openContent, sealContent } from '../messages/content.js';

let internalApi: InternalApiWorld;
let engine: TestEngine;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
  engine = await (await internalApi.addEngine()).acquire();
});
afterAll(() => internalApi.close());

const lease = (by: TestEngine) => ({ epoch: by.lease.epoch, holder: by.lease.holder });
const upload = (by: TestEngine, bytes: Buffer, named: Record<string, string> = {}) => {
  const { epoch, holder } = lease(by);
  return internalApi
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
async function acceptPrepared(bytes: Buffer, to = '5511987650000'): Promise<string> {
  const { media_id: file } = await upload(engine, bytes);
  const id = await internalApi.accept({ instance: engine.instanceId, to });
  const { database, sealer } = internalApi.world;
  const row = await database.messageContent.findUniqueOrThrow({ where: { messageId: id } });
  const content = JSON.parse(openContent(sealer, engine.instanceId, row.contentSealed)) as object;
  const sealed = sealContent(sealer, engine.instanceId, JSON.stringify({ ...content, finished: { file } }));
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

test.each([
  ['../../.ssh/authorized_keys', 'sshauthorized_keys'],
  ['..\\..\\boot.ini', 'boot.ini'],
  ['a\r\nX: y\u0000.pdf', 'aX: y.pdf'],
  ['invoice\u202efdp.exe', 'invoicefdp.exe'],
  ['Relatório (março).pdf', 'Relatório (março).pdf'],
  ['../..', null],
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

test('an ended lease can neither download nor upload', async () => {
  const stale = { ...engine, lease: { ...lease(engine), holder: newUuid() } } as TestEngine;
  expect(await outcome(download(stale, newUuid()))).toBe('the internal API refused the call: fenced');
  expect(await outcome(upload(stale, Buffer.from('a')))).toBe('the internal API refused the call: fenced');
});
