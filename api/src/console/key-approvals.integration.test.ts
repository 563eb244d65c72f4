import { hash, randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { newUuid } from '@gwk/core/ids/ids';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { CreatedKey, KeyApprovalOut, KeyOut } from '../resources/console/key.js';
import { Browser, openBrowser } from '@gwk/test/support/api/console';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { Answer } from '@gwk/test/support/api/client';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { until } from '@gwk/test/support/wait';

let api: TestApi;
let account: TestAccount;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
});

const PATH = '/console/api/key-approvals';
const DAY_MS = 86_400_000;
const codeOf = ({ body }: Answer<unknown>) => (body as ProblemBody).type?.split('/').at(-1);

/** What `gwk login` keeps, and what it shows to the console. */
function newProgram() {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: hash('sha256', verifier) };
}

const approve = (browser: Browser, body: object) =>
  browser.call<z.output<typeof KeyApprovalOut>>('POST', PATH, {
    body: { name: 'gwk on laptop', scopes: ['instances:read'], ...body },
  });
/** The program has no session, only the address of the console. */
const redeem = (body: object) =>
  new Browser(api).call<z.output<typeof CreatedKey>>('POST', `${PATH}/redeem`, { body });

async function approved(more: object = {}, browser?: Browser) {
  const { verifier, challenge } = newProgram();
  const answer = await approve(browser ?? (await openBrowser(api, account)), { challenge, ...more });
  expect(answer.status).toBe(201);
  return { verifier, code: answer.body.code, expiresAt: Date.parse(answer.body.expires_at) };
}
const rows = () => api.db.apiKey.findMany({ where: { accountId: account.id } });

test('an approved key is redeemed once, works, and is listed, audited and revoked like others', async () => {
  const browser = await openBrowser(api, account, 'developer');
  const { verifier, code, expiresAt } = await approved({}, browser);
  expect(Math.abs(expiresAt - Date.now() - 300_000)).toBeLessThan(60_000);
  const { status, body, headers } = await redeem({ code, verifier });
  expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
  const { api_key, ...shown } = body;
  expect(shown).toMatchObject({ name: 'gwk on laptop', scopes: ['instances:read'], instance_ids: null });
  expect(Math.abs(Date.parse(shown.expires_at!) - Date.now() - 90 * DAY_MS)).toBeLessThan(60_000);
  const client = api.client(api_key);
  expect((await client.call('GET', '/v1/instances')).status).toBe(200);
  expect(codeOf(await client.call('GET', '/v1/messages'))).toBe('insufficient-scope');
  expect(codeOf(await redeem({ code, verifier }))).toBe('invalid-code');

  const listed = await browser.call<{ data: KeyOut[] }>('GET', '/console/api/keys');
  expect(listed.body.data.map(({ id }) => id)).toEqual([shown.id]);
  expect((await browser.call('DELETE', `/console/api/keys/${shown.id}`)).status).toBe(204);
  expect((await client.call('GET', '/v1/instances')).status).toBe(401);
  const entries = await api.db.auditEntry.findMany({
    where: { accountId: account.id },
    orderBy: { id: 'asc' },
  });
  const key = (await rows())[0]!.id;
  expect(entries.map(({ actor, action, subject }) => [actor, action, subject])).toEqual([
    [`user:${browser.user.id}`, 'key.create', key],
    [`key:${key}`, 'key.redeem', key],
    [`user:${browser.user.id}`, 'key.revoke', key],
  ]);
  const written = JSON.stringify(entries);
  for (const secret of [api_key, code, verifier]) expect(written).not.toContain(secret);
});

test.each([
  ['the verifier of another program', ({ code }: Given) => ({ code, verifier: newProgram().verifier })],
  [
    'a code that was never made',
    ({ code, verifier }: Given) => ({ code: code.replace(/^.{43}/, 'A'.repeat(43)), verifier }),
  ],
  ['a code with another lifetime', ({ code, verifier }: Given) => ({ code: `${code}9`, verifier })],
  [
    'the challenge in place of the verifier',
    ({ code, verifier }: Given) => ({ code, verifier: hash('sha256', verifier) }),
  ],
])('refuses %s, and the right ones still work', async (_, change) => {
  const given = await approved({ expires_in_days: 3 });
  const wrong = await redeem(change(given));
  expect([wrong.status, codeOf(wrong)]).toEqual([422, 'invalid-code']);
  const { body } = await redeem({ code: given.code, verifier: given.verifier });
  expect(Math.abs(Date.parse(body.expires_at!) - Date.now() - 3 * DAY_MS)).toBeLessThan(60_000);
});
interface Given {
  code: string;
  verifier: string;
}

test.each([
  ['late', { expiresAt: new Date(Date.now() - 1_000) }],
  ['after a revocation', { revokedAt: new Date() }],
])('refuses a code %s, and the row stays without a key', async (_, data) => {
  const { code, verifier } = await approved();
  await api.db.apiKey.updateMany({ where: { accountId: account.id }, data });
  const before = await rows();
  expect(codeOf(await redeem({ code, verifier }))).toBe('invalid-code');
  expect(await rows()).toEqual(before);
});

/** Starts the requests while the row is locked, lets all of them wait for it, then applies the change. */
async function redeemDuring(amount: number, body: object, change: { revokedAt?: Date }) {
  const requests: ReturnType<typeof redeem>[] = [];
  await api.db.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT id FROM api_keys WHERE account_id = ${account.id}::uuid FOR UPDATE`;
    for (let n = 0; n < amount; n++) requests.push(redeem(body));
    // Outside the transaction, which would see the activity of its first look only.
    const waiting = async () =>
      (
        await api.db.$queryRaw<unknown[]>`
          SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      ).length;
    await until(async () => (await waiting()) === amount, { what: 'the requests wait for the row' });
    await tx.apiKey.updateMany({ where: { accountId: account.id }, data: change });
  });
  return Promise.all(requests);
}

test('of three uses at once one gets the key, and only that key works', async () => {
  const { code, verifier } = await approved();
  const answers = await redeemDuring(3, { code, verifier }, {});
  const [made, ...more] = answers.filter(({ status }) => status === 200);
  expect(more).toEqual([]);
  expect(answers.filter((answer) => codeOf(answer) === 'invalid-code')).toHaveLength(2);
  expect((await api.client(made!.body.api_key).call('GET', '/v1/instances')).status).toBe(200);
  expect(await rows()).toHaveLength(1);
});

test('a revocation that is under way comes first', async () => {
  const { code, verifier } = await approved();
  const [answer] = await redeemDuring(1, { code, verifier }, { revokedAt: new Date() });
  expect(codeOf(answer!)).toBe('invalid-code');
});

test('a code is no key, and neither is what its row stores', async () => {
  const { code, verifier } = await approved();
  const [row] = await rows();
  const challenge = hash('sha256', verifier);
  for (const text of [code, `exchange.${code}.${challenge}`, Buffer.from(row!.hash).toString('hex')])
    expect((await api.client(text).call('GET', '/v1/instances')).status).toBe(401);
});

test('a suspended account gets no key; afterwards the code is still good', async () => {
  const { code, verifier } = await approved();
  const suspend = (suspendedAt: Date | null) =>
    api.db.account.update({ where: { id: account.id }, data: { suspendedAt } });
  await suspend(new Date());
  const refused = await redeem({ code, verifier });
  expect([refused.status, codeOf(refused)]).toEqual([403, 'account-suspended']);
  await suspend(null);
  expect((await redeem({ code, verifier })).status).toBe(200);
});

test('a key has no more scopes and instances than the person who approves it', async () => {
  const owner = await openBrowser(api, account);
  const add = async (name: string) => {
    const body = { name, kind: 'sandbox' };
    const { id } = (await owner.call<{ id: string }>('POST', '/v1/instances', { body })).body;
    const { id: uuid } = await api.db.instance.findFirstOrThrow({ where: { accountId: account.id, name } });
    return { id, uuid };
  };
  const [one, other] = [await add('one'), await add('other')];
  const member = await openBrowser(api, account, 'developer', [one.uuid]);
  const { challenge } = newProgram();
  expect(codeOf(await approve(member, { challenge, scopes: ['instances:write'] }))).toBe('invalid-scopes');
  const foreign = await approve(member, { challenge, instance_ids: [other.id] });
  expect(codeOf(foreign)).toBe('validation-error');
  const { code, verifier } = await approved({}, member);
  const { body } = await redeem({ code, verifier });
  expect(body.instance_ids).toEqual([one.id]);
  const { data } = (await api.client(body.api_key).call<{ data: { id: string }[] }>('GET', '/v1/instances'))
    .body;
  expect(data.map(({ id }) => id)).toEqual([one.id]);
});

test('counts approvals among the 100 keys of the account until they expire', async () => {
  const browser = await openBrowser(api, account);
  const { challenge } = newProgram();
  await api.db.apiKey.createMany({
    data: Array.from({ length: 99 }, (_, n) => ({
      id: newUuid(),
      accountId: account.id,
      name: `key ${n}`,
      hash: new Uint8Array(Buffer.from(newUuid())),
      scopes: ['messages:read'],
    })),
  });
  expect((await approve(browser, { challenge })).status).toBe(201);
  const refused = await approve(browser, { challenge });
  expect((refused.body as unknown as ProblemBody).errors?.[0]?.code).toBe('too-many-keys');
  const past = new Date(Date.now() - 1_000);
  await api.db.apiKey.updateMany({
    where: { accountId: account.id, expiresAt: { not: null } },
    data: { expiresAt: past },
  });
  expect((await approve(browser, { challenge })).status).toBe(201);
});

test.each([
  ['a short challenge', { challenge: 'ab' }],
  ['no end', { expires_in_days: null }],
  ['a lifetime of more than a year', { expires_in_days: 367 }],
])('refuses an approval with %s', async (_, more) => {
  const answer = await approve(await openBrowser(api, account), {
    ...newProgram(),
    verifier: undefined,
    ...more,
  });
  expect(codeOf(answer)).toBe('validation-error');
  expect(await rows()).toEqual([]);
});
