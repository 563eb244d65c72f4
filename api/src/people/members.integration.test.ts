import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { z } from 'zod';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { MemberOut } from '../resources/console/member.js';
import { toPublicId } from '@gwk/core/ids/ids';
import { browserOf, createUser, openBrowser, type Browser } from '@gwk/test/support/api/console';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { Answer } from '@gwk/test/support/api/client';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';

type Member = z.output<typeof MemberOut>;

let api: TestApi;
let account: TestAccount;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
});

const PATH = '/console/api/members';
const idOf = ({ user }: { user: { id: string } }) => toPublicId('user', user.id);
const pathOf = (member: { user: { id: string } }) => `${PATH}/${idOf(member)}`;
const outcome = (answer: Answer<unknown>) =>
  answer.status < 300 ? answer.status : (answer.body as ProblemBody).type.split('/').at(-1);
const list = async (browser: Browser, query = '') =>
  (await browser.call<{ data: Member[]; next_cursor: string | null }>('GET', `${PATH}${query}`)).body;
const change = (browser: Browser, member: { user: { id: string } }, body: object) =>
  browser.call<Member>('PATCH', pathOf(member), { body });

test('lists members in pages, changes a role at once, and removes a member', async () => {
  const owner = await openBrowser(api, account);
  const member = await openBrowser(api, account, 'viewer');
  const [first, second] = [await list(owner, '?limit=1'), null];
  expect([first.data.map(({ user_id }) => user_id), second]).toEqual([[idOf(member)], null]);
  const rest = await list(owner, `?limit=1&cursor=${first.next_cursor!}`);
  expect(rest.data.map(({ role, email }) => [role, email])).toEqual([['owner', owner.user.email]]);

  const optOut = () => member.call('POST', '/v1/opt-outs', { body: { phone: '5511987654321' } });
  expect(outcome(await optOut())).toBe('forbidden');
  expect((await change(owner, member, { role: 'agent' })).body.role).toBe('agent');
  expect(outcome(await optOut())).toBe(201);
  expect(outcome(await owner.call('DELETE', pathOf(member)))).toBe(204);
  expect(outcome(await optOut())).toBe('no-account');
  const entries = await api.db.auditEntry.findMany({
    where: { subject: member.user.id },
    orderBy: { id: 'asc' },
  });
  expect(entries.map(({ action, actor }) => [action, actor])).toEqual([
    ['member.update', `user:${owner.user.id}`],
    ['member.remove', `user:${owner.user.id}`],
  ]);
});

test('the last owner can be neither removed nor demoted, also not by itself or a platform administrator', async () => {
  const owner = await openBrowser(api, account);
  const platform = (await browserOf(api, await createUser(api, { isPlatformAdmin: true }))).use(account);
  for (const browser of [owner, platform]) {
    expect(outcome(await change(browser, owner, { role: 'admin' }))).toBe('last-owner');
    expect(outcome(await browser.call('DELETE', pathOf(owner)))).toBe('last-owner');
  }
  const other = await openBrowser(api, account);
  expect(outcome(await change(other, owner, { role: 'admin' }))).toBe(200);
});

test('of two owners who demote each other at once, one remains', async () => {
  const [one, other] = [await openBrowser(api, account), await openBrowser(api, account)];
  await Promise.all([change(one, other, { role: 'viewer' }), change(other, one, { role: 'viewer' })]);
  expect(await api.db.member.count({ where: { accountId: account.id, role: 'owner' } })).toBe(1);
});

test('an admin can neither make, change nor remove an owner', async () => {
  const owner = await openBrowser(api, account);
  const admin = await openBrowser(api, account, 'admin');
  const member = await openBrowser(api, account, 'viewer');
  expect(outcome(await change(admin, member, { role: 'owner' }))).toBe('forbidden');
  expect(outcome(await change(admin, admin, { role: 'owner' }))).toBe('forbidden');
  expect(outcome(await change(admin, owner, { role: 'viewer' }))).toBe('forbidden');
  expect(outcome(await admin.call('DELETE', pathOf(owner)))).toBe('forbidden');
  const invited = await admin.call('POST', '/console/api/invitations', {
    body: { email: 'boss@example.org', role: 'owner' },
  });
  expect(outcome(invited)).toBe('forbidden');
  expect(outcome(await change(admin, member, { role: 'admin' }))).toBe(200);
});

/** Two sandboxes of the account. */
async function createInstances(owner: Browser) {
  const create = async (name: string) => {
    await owner.call('POST', '/v1/instances', { body: { name, kind: 'sandbox' } });
    const row = await api.db.instance.findFirstOrThrow({ where: { accountId: account.id, name } });
    return { uuid: row.id, id: toPublicId('instance', row.id) };
  };
  return [await create('one'), await create('other')] as const;
}

test('restricts a member to instances, and a restricted admin gives no more than its own', async () => {
  const owner = await openBrowser(api, account);
  const [one, other] = await createInstances(owner);
  const member = await openBrowser(api, account, 'viewer');
  expect((await change(owner, member, { instance_ids: [one.id] })).body.instance_ids).toEqual([one.id]);
  const seen = await member.call<{ data: { id: string }[] }>('GET', '/v1/instances');
  expect(seen.body.data.map(({ id }) => id)).toEqual([one.id]);
  const admin = await openBrowser(api, account, 'admin', [one.uuid]);
  expect((await change(admin, member, { instance_ids: null })).body.instance_ids).toEqual([one.id]);
  expect(outcome(await change(admin, member, { instance_ids: [other.id] }))).toBe('validation-error');
  expect((await change(owner, member, { instance_ids: null })).body.instance_ids).toBeNull();
});

test('a restricted admin manages only members and invitations within its instances', async () => {
  const owner = await openBrowser(api, account);
  const [one, other] = await createInstances(owner);
  const admin = await openBrowser(api, account, 'admin', [one.uuid]);
  const invite = (browser: Browser, email: string, ids: string[] | null) =>
    browser.call<{ id: string }>('POST', '/console/api/invitations', {
      body: { email, role: 'viewer', instance_ids: ids },
    });
  const revoke = (id: string) => admin.call('DELETE', `/console/api/invitations/${id}`);
  for (const instances of [undefined, [other.uuid], [one.uuid, other.uuid]]) {
    const member = await openBrowser(api, account, 'viewer', instances);
    for (const body of [{ role: 'agent' }, { instance_ids: [one.id] }, { instance_ids: null }]) {
      expect(outcome(await change(admin, member, body))).toBe('forbidden');
    }
    expect(outcome(await admin.call('DELETE', pathOf(member)))).toBe('forbidden');
  }
  const invited = await invite(owner, 'wide@example.org', null);
  expect(outcome(await invite(admin, 'wide@example.org', [one.id]))).toBe('forbidden');
  expect(outcome(await revoke(invited.body.id))).toBe('forbidden');
  const within = await openBrowser(api, account, 'viewer', [one.uuid]);
  expect(outcome(await change(admin, within, { role: 'agent' }))).toBe(200);
  expect(outcome(await admin.call('DELETE', pathOf(within)))).toBe(204);
  const { body } = await invite(admin, 'narrow@example.org', null);
  expect(outcome(await revoke(body.id))).toBe(204);
});

test('owners have all instances', async () => {
  const owner = await openBrowser(api, account);
  const [one] = await createInstances(owner);
  const member = await openBrowser(api, account, 'admin', [one.uuid]);
  for (const [target, body] of [
    [owner, { instance_ids: [] }],
    [owner, { instance_ids: [one.id] }],
    [member, { role: 'owner' }],
  ] as const) {
    const { status, body: problem } = await change(owner, target, body);
    expect([status, (problem as unknown as ProblemBody).errors?.[0]?.path]).toEqual([422, 'instance_ids']);
  }
  const invited = await owner.call<ProblemBody>('POST', '/console/api/invitations', {
    body: { email: 'boss@example.org', role: 'owner', instance_ids: [one.id] },
  });
  expect([invited.status, invited.body.errors?.[0]?.path]).toEqual([422, 'instance_ids']);
  const promoted = await change(owner, member, { role: 'owner', instance_ids: null });
  expect([promoted.status, promoted.body.instance_ids]).toEqual([200, null]);
});

test('rights that end while a body arrives do not count', async () => {
  const owner = await openBrowser(api, account);
  const admin = await openBrowser(api, account, 'admin');
  const member = await openBrowser(api, account, 'viewer');
  await list(admin);
  const sending = request({
    port: api.port,
    method: 'PATCH',
    path: pathOf(member),
    headers: { ...admin.headers, 'content-type': 'application/json', expect: '100-continue' },
  });
  const answered = once(sending, 'response') as Promise<[IncomingMessage]>;
  sending.flushHeaders();
  await once(sending, 'continue');
  sending.write('{"role":');
  await change(owner, admin, { role: 'agent' });
  sending.end('"admin"}');
  const [answer] = await answered;
  answer.resume();
  expect(answer.statusCode).toBe(403);
  expect((await list(owner)).data.map(({ role }) => role).sort()).toEqual(['agent', 'owner', 'viewer']);
});
