import { BUNDLED } from '@gwk/core/client-version';
import { fromPublicId, newUuid, toPublicId } from '@gwk/core/ids/ids';
import type {
  PlatformAccountOut,
  PlatformInstanceOut,
  PlatformOverviewOut,
} from '../../resources/console/platform.js';
import type { InteractiveStatusOut } from '../../resources/interactive-status.js';
import type { ProblemBody } from '@gwk/core/problems/problems';
import type { Page } from '@gwk/core/resources/common';
import type { SessionOut } from '../../resources/console/session.js';
import {
  addMember,
  browserOf,
  createUser,
  openBrowser,
  type Browser,
  type TestUser,
} from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import { until } from '@gwk/test/support/wait';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import type { z } from 'zod';
import { createLogger } from '@gwk/core/process/log';
import { OperatorClient } from '@gwk/core/protocol/internal-client';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { noteProgram, VERSION } from '../../platform/presence.js';
import { closeRedis, openRedis } from '../../platform/redis.js';

/** This file has its own database, because administrators of the platform see all accounts. */
let api: TestApi;
let admin: Browser & { user: TestUser };

beforeAll(async () => {
  api = await openApi();
  admin = await browserOf(api, await createUser(api, { isPlatformAdmin: true }));
});
afterAll(() => api.stop());

const PLATFORM = '/console/api/platform';
const ACCOUNTS = `${PLATFORM}/accounts`;

const create = async (body: object): Promise<PlatformAccountOut> => {
  const answer = await admin.call<PlatformAccountOut>('POST', ACCOUNTS, { body });
  expect(answer.status).toBe(201);
  return answer.body;
};
const change = (id: string, body: object) =>
  admin.call<PlatformAccountOut & ProblemBody>('PATCH', `${ACCOUNTS}/${id}`, { body });
const list = async (query: string) =>
  (await admin.call<Page<PlatformAccountOut>>('GET', `${ACCOUNTS}?${query}`)).body;
const accountIdOf = (id: string) => fromPublicId('account', id)!;
const createInstance = async (account: TestAccount, name: string, kind = 'sandbox') => {
  const client = await api.clientOf(account);
  return (await client.call<{ id: string }>('POST', '/v1/instances', { body: { name, kind } })).body.id;
};

test('entering an account of others is in its audit log, once for each session', async () => {
  const [visited, own] = [await api.account(), await api.account()];
  await addMember(api, own, { userId: admin.user.id, role: 'viewer' });
  const countVisits = (account: TestAccount) =>
    api.db.auditEntry.count({
      where: { accountId: account.id, action: 'account.visit', actor: `user:${admin.user.id}` },
    });
  const visitor = await browserOf(api, admin.user);
  visitor.use(visited);
  const requests = Array.from({ length: 3 }, () => visitor.call('GET', '/v1/instances'));
  expect((await Promise.all(requests)).map(({ status }) => status)).toEqual([200, 200, 200]);
  await visitor.call('GET', '/console/api/overview');
  expect(await countVisits(visited)).toBe(1);
  visitor.use(own);
  await visitor.call('GET', '/v1/instances');
  expect(await countVisits(own)).toBe(0);
  const another = await browserOf(api, admin.user);
  another.use(visited);
  await another.call('GET', '/v1/instances');
  expect(await countVisits(visited)).toBe(2);
  const member = await openBrowser(api, visited);
  await member.call('GET', '/v1/instances');
  expect(await api.db.auditEntry.count({ where: { action: 'account.visit' } })).toBe(2);
});

describe('accounts', () => {
  test('are created, renamed, limited, suspended, resumed and given namespaces, each with an audit entry', async () => {
    const made = await create({ name: 'Loja Norte', limits: { instances: 3 }, namespaces: ['shop'] });
    expect(made).toMatchObject({
      name: 'Loja Norte',
      namespaces: ['shop'],
      suspended_at: null,
      limits: { instances: 3, media_files: 100_000 },
      own_limits: { instances: 3, media_files: null },
      usage: { instances: 0, media_bytes: 0 },
    });
    const changed = await change(made.id, {
      name: 'Loja Sul',
      limits: { instances: null, media_files: 5 },
      suspended: true,
      namespaces: ['other'],
    });
    expect(changed.body).toMatchObject({
      name: 'Loja Sul',
      namespaces: ['other'],
      suspended_at: expect.any(String),
      own_limits: { instances: null, media_files: 5 },
    });
    expect((await change(made.id, { suspended: false })).body.suspended_at).toBeNull();
    expect((await admin.call('GET', `${ACCOUNTS}/${made.id}`)).body).toMatchObject({ suspended_at: null });
    const entries = await api.db.auditEntry.findMany({
      where: { accountId: accountIdOf(made.id) },
      orderBy: { id: 'asc' },
    });
    expect(entries.map(({ action, detail }) => [action, detail])).toEqual([
      ['account.create', { maxInstances: 3, namespaces: ['shop'] }],
      ['account.rename', { name: 'Loja Sul', former: 'Loja Norte' }],
      ['account.limits', { maxInstances: null, maxMediaFiles: 5 }],
      ['account.suspend', {}],
      ['account.allow-namespace', { namespace: 'other' }],
      ['account.forbid-namespace', { namespace: 'shop' }],
      ['account.resume', {}],
    ]);
    expect(new Set(entries.map(({ actor }) => actor))).toEqual(new Set([`user:${admin.user.id}`]));
  });

  test('keep unique names, also when two people create one at once', async () => {
    const body = { name: `twice-${newUuid()}` };
    const answers = await Promise.all(
      [1, 2, 3].map(() => admin.call<ProblemBody>('POST', ACCOUNTS, { body })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422]);
    const refused = answers.find(({ status }) => status === 422)!;
    expect(refused.body.errors).toEqual([
      { path: 'name', code: 'taken', message: `account "${body.name}" already exists` },
    ]);
    const other = await create({ name: `other-${newUuid()}` });
    expect((await change(other.id, body)).body.errors![0]!.code).toBe('taken');
  });

  test('keep their name while they have instances', async () => {
    const account = await api.account();
    const id = toPublicId('account', account.id);
    await createInstance(account, 'named');
    const refused = await change(id, { name: `renamed-${account.id}` });
    expect([refused.status, refused.body.errors![0]!.code]).toEqual([422, 'in-use']);
    expect((await change(id, { name: account.name })).status).toBe(200);
  });

  test('get no instance of another account that had their name', async () => {
    const former = await api.account();
    const key = await api.key(former);
    const { port } = await api.addReplica();
    const stale = api.client(key.key, port);
    await stale.call('GET', '/v1/instances');
    await change(toPublicId('account', former.id), { name: `moved-${former.id}` });
    const heir = await create({ name: former.name });
    // This replica may still have the key with the former name in its cache.
    await stale.call('POST', '/v1/instances', { body: { name: 'late', kind: 'sandbox' } });
    expect(await api.db.instance.count({ where: { accountId: accountIdOf(heir.id) } })).toBe(0);
  });

  test('are found by a part of the name or by id, and paged by cursor', async () => {
    const mark = newUuid();
    for (const name of ['Um', 'Dois', 'Três']) await create({ name: `${name} ${mark}` });
    const names = (page: Page<PlatformAccountOut>) => page.data.map(({ name }) => name.split(' ')[0]);
    const search = encodeURIComponent(mark.toUpperCase());
    const first = await list(`limit=2&search=${search}`);
    expect(names(first)).toEqual(['Três', 'Dois']);
    const rest = await list(`limit=2&search=${search}&cursor=${first.next_cursor}`);
    expect([names(rest), rest.next_cursor]).toEqual([['Um'], null]);
    expect(names(await list(`search=${rest.data[0]!.id}`))).toEqual(['Um']);
    expect((await list(`search=${newUuid()}`)).data).toEqual([]);
  });

  test('show what they use', async () => {
    const account = await api.account();
    await createInstance(account, 'web', 'web');
    const usage = { mediaBytes: 7, mediaFiles: 2, eventBytes: 9 };
    const where = { accountId: account.id };
    await api.db.accountUsage.upsert({ where, create: { ...where, ...usage }, update: usage });
    const [row] = (await list(`search=${account.name}`)).data;
    expect(row!.usage).toEqual({ instances: 1, media_bytes: 7, media_files: 2, event_bytes: 9 });
  });

  test('refuse sends by key and by session while suspended, and read as before', async () => {
    const account = await api.account();
    const client = await api.clientOf(account);
    const sandbox = await createInstance(account, 'suspended');
    const member = await openBrowser(api, account);
    const send = { body: { instance_id: sandbox, to: '5511987654321', type: 'text', text: { body: 'Oi' } } };
    await change(toPublicId('account', account.id), { suspended: true });
    for (const caller of [client, member, admin.use(account)]) {
      const refused = await caller.call<ProblemBody>('POST', '/v1/messages', send);
      expect([refused.status, refused.body.type.split('/').at(-1)]).toEqual([403, 'account-suspended']);
      expect((await caller.call('GET', `/v1/instances/${sandbox}`)).status).toBe(200);
    }
    await change(toPublicId('account', account.id), { suspended: false });
    expect((await client.call('POST', '/v1/messages', send)).status).toBe(202);
  });
});

test('an administrator finds every account in the session, and members only their own', async () => {
  const mark = newUuid();
  const own = await create({ name: `own ${mark}` });
  await create({ name: `foreign ${mark}` });
  const member = await openBrowser(api, { id: accountIdOf(own.id), name: own.name });
  const find = async (browser: Browser, search: string) =>
    (
      await browser.call<Pick<SessionOut, 'accounts'> & { data: SessionOut['accounts'] }>(
        'GET',
        `/console/api/session/accounts?search=${search}`,
      )
    ).body.data;
  expect((await find(admin, mark)).map(({ name, role }) => [name, role])).toEqual([
    [`foreign ${mark}`, 'owner'],
    [`own ${mark}`, 'owner'],
  ]);
  expect((await find(member, mark)).map(({ id }) => id)).toEqual([own.id]);
  expect((await find(admin, own.id)).map(({ id }) => id)).toEqual([own.id]);
  const tooLong = `/console/api/session/accounts?search=${'a'.repeat(81)}`;
  expect((await admin.call('GET', tooLong)).status).toBe(422);
});

describe('numbers and versions', () => {
  type Instance = z.output<typeof PlatformInstanceOut>;
  const instances = async (query: string) =>
    (await admin.call<Page<Instance>>('GET', `${PLATFORM}/instances?${query}`)).body;

  test('instances of all accounts are listed by state, version and account, and counted', async () => {
    const account = await api.account();
    const id = await createInstance(account, 'listed');
    await createInstance(account, 'unpaired', 'web');
    const version = `9.9.9-${account.id.slice(0, 8)}`;
    await api.db.instanceLease.update({
      where: { instanceId: fromPublicId('instance', id)! },
      data: { version, holder: newUuid(), pod: 'engine-1', expiresAt: new Date(Date.now() + 600_000) },
    });
    const of = `account_id=${toPublicId('account', account.id)}`;
    expect((await instances(of)).data.map(({ name }) => name)).toEqual(['unpaired', 'listed']);
    expect((await instances(`${of}&state=pending_pair`)).data.map(({ name }) => name)).toEqual(['unpaired']);
    expect((await instances(`version=${version}`)).data).toEqual([
      expect.objectContaining({
        id,
        account_name: account.name,
        engine_version: version,
        engine_pod: 'engine-1',
      }),
    ]);
    expect((await instances('account_id=acc_unknown')).data).toEqual([]);
    const { body } = await admin.call<z.output<typeof PlatformOverviewOut>>('GET', `${PLATFORM}/overview`);
    expect(body.instances).toContainEqual({ state: 'connecting', engine_version: version, count: 1 });
    expect(body.accounts.total).toBeGreaterThan(0);
  });

  test('the overview shows the versions of API, worker and operator that were seen last', async () => {
    const { redisUrl: url, redisPrefix } = api.options;
    const redis = openRedis({ url, program: 'test', log: createLogger('test', 'silent') });
    await until(async () => redis.isReady, { what: 'Redis is connected' });
    const keys = new RedisKeys(redisPrefix);
    const client = new OperatorClient({
      baseUrl: `http://127.0.0.1:${api.running.internalPort}`,
      token: api.operatorToken,
      timeoutMs: 10_000,
      userAgent: 'gwk-operator/0.0.9 (operator-1)',
    });
    await client.call('observe', { ids: [] });
    client.close();
    await noteProgram(redis, keys, { program: 'worker', version: '0.0.8', host: 'worker-1' });
    const old = Date.now() - 200_000;
    await noteProgram(redis, keys, { program: 'worker', version: '0.0.7', host: 'worker-1' }, old);
    closeRedis(redis);
    const programs = await until(
      async () => {
        const { body } = await admin.call<z.output<typeof PlatformOverviewOut>>(
          'GET',
          `${PLATFORM}/overview`,
        );
        return body.programs.length === 3 && body.programs;
      },
      { what: 'the API has noted itself and the operator' },
    );
    expect(programs.map(({ program, version }) => [program, version])).toEqual([
      ['api', VERSION],
      ['worker', '0.0.8'],
      ['operator', '0.0.9'],
    ]);
  });
});

test('a device check is shown with its app version in public, and with its author to administrators', async () => {
  const check = { format: 'native_flow_list', device: 'iphone', status: 'partial', app_version: '2.26.41' };
  const body = { ...check, note: 'O botão fica atrás do teclado' };
  const made = await admin.call('POST', `${PLATFORM}/device-checks`, { body });
  expect(made.body).toEqual({ ...body, checked_at: expect.any(String), checked_by: admin.user.email });
  const listed = await admin.call<{ data: unknown[] }>('GET', `${PLATFORM}/device-checks`);
  expect(listed.body.data).toContainEqual(made.body);
  const status = await api.client(null).call<InteractiveStatusOut>('GET', '/v1/status/interactive');
  const shown = status.body.formats.find(({ format }) => format === check.format)!.devices.iphone;
  expect(shown).toEqual({
    status: 'partial',
    note: body.note,
    app_version: '2.26.41',
    checked_at: expect.any(String),
  });
  const entry = await api.db.auditEntry.findFirstOrThrow({ where: { action: 'status.set' } });
  expect(entry).toMatchObject({ actor: `user:${admin.user.id}`, subject: 'native_flow_list iphone' });
});

describe('the client version', () => {
  const PATH = `${PLATFORM}/network-version`;
  const PIN = '2.3000.1044142122';

  test('is pinned and unpinned by an administrator, who is shown', async () => {
    const pinned = await admin.call('PATCH', PATH, { body: { version: PIN } });
    expect([pinned.status, pinned.body]).toEqual([
      200,
      expect.objectContaining({
        pinned: { version: PIN, at: expect.any(String), by: admin.user.email },
        bundled: BUNDLED,
      }),
    ]);
    expect((await admin.call('GET', PATH)).body).toEqual(pinned.body);
    const entry = await api.db.auditEntry.findFirstOrThrow({ where: { action: 'network_version.pin' } });
    expect(entry).toMatchObject({ actor: `user:${admin.user.id}`, subject: PIN, detail: { former: null } });
    expect((await admin.call('PATCH', PATH, { body: { version: null } })).body).toMatchObject({
      pinned: null,
    });
  });

  test.each(['2.3000.1', 'latest', '2.3000.1299999999', '2.3000.1044142122\n'])(
    '%j is not pinned',
    async (version) => {
      const { status, body } = await admin.call('PATCH', PATH, { body: { version } });
      expect([status, body]).toMatchObject([422, { errors: [{ path: 'version' }] }]);
      expect((await admin.call('GET', PATH)).body).toMatchObject({ pinned: null });
    },
  );
});
