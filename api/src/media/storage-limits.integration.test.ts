import { newUuid } from '@gwk/core/ids/ids';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { InstanceOut } from '../resources/instance.js';
import type { MediaOut } from '@gwk/core/resources/media';
import type { ApiClient } from '@gwk/test/support/api/client';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { upload } from '@gwk/test/support/api/upload';

let api: TestApi;
let account: TestAccount;
let client: ApiClient;
beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
});

const limit = (data: { maxMediaBytes?: number; maxMediaFiles?: number; maxEventBytes?: number }) =>
  api.db.account.update({ where: { id: account.id }, data });
const put = (content: string, headers: Record<string, string> = {}) =>
  upload<MediaOut & ProblemBody>(client, [{ name: 'file', filename: 'a', content }], { headers });
const usage = async () => {
  const row = await api.db.accountUsage.findUniqueOrThrow({ where: { accountId: account.id } });
  return [Number(row.mediaBytes), row.mediaFiles];
};
const codeOf = ({ status, body }: { status: number; body: ProblemBody }) =>
  `${status} ${body.type?.split('/').at(-1)}`;
const FULL = '409 storage-limit-reached';

test('refuses an upload that exceeds the bytes of the account, and keeps none of it', async () => {
  await limit({ maxMediaBytes: 10 });
  expect((await put('1234567')).status).toBe(201);
  expect(codeOf(await put('1234'))).toBe(FULL);
  expect(await usage()).toEqual([7, 1]);
  expect((await put('123')).status).toBe(201);
  expect(codeOf(await put('1'))).toBe(FULL);
  expect(await usage()).toEqual([10, 2]);
  expect(await api.db.media.count({ where: { accountId: account.id } })).toBe(2);
});

test('refuses an upload above the number of files; other accounts are not affected', async () => {
  await limit({ maxMediaFiles: 1 });
  expect((await put('a')).status).toBe(201);
  expect(codeOf(await put('b'))).toBe(FULL);
  const other = await api.clientOf(await api.account());
  expect((await upload(other, [{ name: 'file', filename: 'a', content: 'b' }])).status).toBe(201);
});

test('an expired file frees its place', async () => {
  await limit({ maxMediaFiles: 1 });
  await put('a');
  await api.db.media.updateMany({ where: { accountId: account.id }, data: { removedAt: new Date() } });
  expect((await put('b')).status).toBe(201);
});

test('concurrent uploads do not exceed a limit together', async () => {
  await limit({ maxMediaBytes: 30 });
  await put('first');
  const answers = await Promise.all(Array.from({ length: 10 }, () => put('1234567890')));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(2);
  expect(await usage()).toEqual([25, 3]);
});

test('a repeat of an upload is answered although the account is full', async () => {
  await limit({ maxMediaFiles: 1 });
  const headers = { 'idempotency-key': newUuid() };
  const first = await put('a', headers);
  const again = await put('a', headers);
  expect([again.status, again.body.id]).toEqual([201, first.body.id]);
  expect(codeOf(await put('b', { 'idempotency-key': newUuid() }))).toBe(FULL);
});

describe('simulated messages', () => {
  const say = async (text: string, headers: Record<string, string> = {}) => {
    const body = { name: newUuid(), kind: 'sandbox' };
    sandbox ??= (await client.call<InstanceOut>('POST', '/v1/instances', { body })).body.id;
    const path = `/v1/instances/${sandbox}/sandbox/inbound`;
    return client.call<ProblemBody>('POST', path, { body: { from: '5511987654321', text }, headers });
  };
  let sandbox: string | undefined;
  beforeEach(() => {
    sandbox = undefined;
  });

  test('are refused above the bytes of events, and store nothing', async () => {
    await limit({ maxEventBytes: 10_000 });
    expect((await say('a'.repeat(4_000))).status).toBe(200);
    expect((await say('é'.repeat(2_000))).status).toBe(200);
    expect(codeOf(await say('a'.repeat(4_000)))).toBe(FULL);
    expect(await api.db.message.count({ where: { accountId: account.id } })).toBe(2);
  });

  test('a first message can exceed the limit alone', async () => {
    await limit({ maxEventBytes: 1_000 });
    expect(codeOf(await say('a'.repeat(1_000)))).toBe(FULL);
  });

  test('a repeat counts once', async () => {
    await limit({ maxEventBytes: 2_000 });
    const headers = { 'idempotency-key': newUuid() };
    for (let i = 0; i < 5; i++) expect((await say('a'.repeat(1_000), headers)).status).toBe(200);
  });
});
