import {
  createTestDatabase,
  createEmptyDatabase,
  type TestDatabase,
} from '@gwk/test/support/servers/database';
import { BUNDLED } from '@gwk/core/client-version';
import { fromPublicId } from '@gwk/core/ids/ids';
import { SCOPES } from '@gwk/core/scopes';
import { hashApiKey } from '../accounts/api-keys.js';
import { openDatabase, type Database } from '../database/database.js';
import { runGwk } from '@gwk/test/support/api/gwk';

let database: TestDatabase;
let db: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url, poolSize: 2, program: 'test' });
});
afterAll(async () => {
  await db.$disconnect();
  await database.drop();
});

const gwk = (args: string[], env: Record<string, string> = { DATABASE_URL: database.url }) =>
  runGwk(args, env);

test('creates, limits, suspends and resumes an account, with an audit entry each', async () => {
  const made = await gwk(['account', 'create', 'acme', '--max-instances', '5']);
  expect(made).toMatchObject({ code: 0, error: '', json: { name: 'acme' } });
  const { id } = made.json as { id: string };
  const again = await gwk(['account', 'create', 'acme']);
  expect([again.code, again.error]).toEqual([1, 'gwk account create: account "acme" already exists\n']);

  const limits = ['account', 'limits', 'acme'];
  const changed = await gwk([...limits, '--requests-per-minute', '1000', '--max-instances', 'default']);
  expect(changed.json).toMatchObject({ requests_per_minute: 1000, max_instances: null });
  expect((await gwk([...limits, '--max-instances', 'many'])).error).toContain('"many" is not a whole number');

  expect((await gwk(['account', 'suspend', 'acme'])).json).toMatchObject({
    suspended_at: expect.any(String) as string,
  });
  expect((await gwk(['account', 'resume', 'acme'])).json).toMatchObject({ suspended_at: null });
  const allowed = await gwk(['account', 'allow-namespace', 'acme', 'shop']);
  expect(allowed.json).toMatchObject({ namespaces: ['shop'] });
  expect((await gwk(['account', 'list'])).json).toEqual([
    expect.objectContaining({ id, namespaces: ['shop'] }),
  ]);
  expect((await gwk(['account', 'suspend', 'nobody'])).error).toContain('account "nobody" not found');

  const trace = await db.auditEntry.findMany({ orderBy: { id: 'asc' } });
  expect(trace.map(({ action }) => action)).toEqual([
    'account.create',
    'account.limits',
    'account.suspend',
    'account.resume',
    'account.allow-namespace',
  ]);
  expect(new Set(trace.map(({ accountId }) => accountId))).toEqual(new Set([fromPublicId('account', id)]));
  const log = await gwk(['account', 'log', 'acme', '--limit', '2']);
  expect(log.json).toEqual([
    expect.objectContaining({ action: 'account.allow-namespace', detail: { namespace: 'shop' } }),
    expect.objectContaining({ action: 'account.resume', subject: id }),
  ]);
});

test('lists audit entries by account, subject, time, action and actor, with public ids', async () => {
  const begun = new Date().toISOString();
  await gwk(['account', 'create', 'audited']);
  await gwk(['account', 'create', 'other']);
  const made = await gwk(['key', 'create', '--account', 'audited', '--scopes', 'messages:send']);
  const { id, api_key: key } = made.json as { id: string; api_key: string };
  await gwk(['key', 'revoke', id]);
  const listActions = async (...filter: string[]) => {
    const { code, json, error } = await gwk(['audit', ...filter]);
    if (code !== 0) return error;
    return (json as { action: string; subject: string }[]).map(({ action }) => action);
  };
  const all = ['key.revoke', 'key.create', 'account.create'];
  expect(await listActions('--account', 'audited')).toEqual(all);
  expect(await listActions('--subject', id)).toEqual(all.slice(0, 2));
  expect(await listActions('--since', begun)).toEqual([
    'key.revoke',
    'key.create',
    'account.create',
    'account.create',
  ]);
  expect(await listActions('--since', begun, '--action', 'key.revoke')).toEqual(['key.revoke']);
  expect(await listActions('--account', 'audited', '--by', id)).toEqual([]);
  expect(await listActions('--account', 'audited', '--limit', '1')).toEqual(['key.revoke']);
  expect(await listActions('--subject', 'x')).toContain('"x" is not an id');
  expect(await listActions('--since', 'then')).toContain('"then" is not a time');
  const { json } = await gwk(['audit', '--subject', id, '--action', 'key.create']);
  expect(json).toEqual([
    {
      at: expect.any(String) as string,
      account: expect.stringMatching(/^acc_/) as string,
      actor: expect.stringMatching(/^cli:./) as string,
      action: 'key.create',
      subject: id,
      detail: { scopes: ['messages:send'] },
    },
  ]);
  expect(JSON.stringify(json)).not.toContain(key);
});

test('shows a key once, stores its hash, restricts and revokes it', async () => {
  await gwk(['account', 'create', 'keys']);
  const create = ['key', 'create', '--account', 'keys'];
  const all = await gwk([...create, '--scopes', 'all']);
  const { id, api_key: key } = all.json as { id: string; api_key: string };
  expect(all.json).toEqual({
    id,
    api_key: expect.stringMatching(/^gwk_live_.{43}$/) as string,
    scopes: SCOPES,
  });
  const row = await db.apiKey.findUnique({ where: { id: fromPublicId('apiKey', id)! } });
  expect(Buffer.from(row!.hash).toString('hex')).toBe(hashApiKey(key));

  const some = await gwk([...create, '--scopes', 'messages:send, messages:read', '--name', 'loja']);
  expect(some.json).toMatchObject({ scopes: ['messages:send', 'messages:read'] });
  expect((await gwk([...create, '--scopes', 'messages:write'])).error).toContain(
    'unknown scopes: messages:write',
  );
  const ghost = `ins_${'0'.repeat(32)}`;
  const foreign = await gwk([...create, '--scopes', 'all', '--instances', ghost]);
  expect(foreign.error).toContain(`instances not found in the account: ${ghost}`);

  expect((await gwk(['key', 'revoke', id])).json).toMatchObject({
    id,
    revoked_at: expect.any(String) as string,
  });
  expect((await gwk(['key', 'revoke', 'key_1'])).code).toBe(1);
  const list = await gwk(['key', 'list', '--account', 'keys']);
  expect(list.json).toHaveLength(2);
  expect(JSON.stringify(list.json)).not.toContain(key);
  const actions = await db.auditEntry.findMany({ where: { subject: row!.id }, orderBy: { id: 'asc' } });
  expect(actions.map(({ action }) => action)).toEqual(['key.create', 'key.revoke']);
});

test('counts the values encrypted with each key and prints no key', async () => {
  const GWK_ENCRYPTION_KEYS = Buffer.alloc(32, 5).toString('base64');
  const env = { DATABASE_URL: database.url, GWK_ENCRYPTION_KEYS };
  expect((await gwk(['encryption', 'status'])).error).toContain('GWK_ENCRYPTION_KEYS is not set');
  const done = await gwk(['encryption', 'reencrypt'], env);
  expect(done.json).toEqual({ reencrypted: 0, left: 0, retired: [] });
  const { json } = await gwk(['encryption', 'status'], env);
  const current = expect.stringMatching(/^[0-9a-f]{16}$/) as string;
  expect(json).toEqual({ current, configured: [current], encrypted: {} });
  const other = { ...env, GWK_ENCRYPTION_KEYS: Buffer.alloc(32, 6).toString('base64') };
  expect((await gwk(['encryption', 'reencrypt'], other)).error).toContain('the old one after it');
});

test('sets and gets the policy of an account, and rejects an invalid one', async () => {
  await gwk(['account', 'create', 'policies']);
  const set = ['policy', 'set', '--account', 'policies', '--json'];
  expect((await gwk([...set, '{"messages_per_minute":100}'])).json).toEqual({
    account: 'policies',
    policy: { messages_per_minute: 100 },
  });
  expect((await gwk(['policy', 'get', '--account', 'policies'])).json).toMatchObject({
    policy: { messages_per_minute: 100 },
  });
  expect((await gwk([...set, '{"messages_per_minute":0}'])).error).toContain('policy.messages_per_minute');
  expect((await gwk([...set, '{'])).error).toContain('--json is not valid JSON');
  expect((await gwk(['policy', 'get'])).error).toContain('either --account or --instance');
});

test('reports an environment error in one line', async () => {
  const nowhere = await gwk(['account', 'list'], {});
  expect([nowhere.code, nowhere.error]).toEqual([2, expect.stringContaining('DATABASE_URL is not set')]);
  const closed = await gwk(['account', 'list'], { DATABASE_URL: 'postgresql://a:b@127.0.0.1:1/x' });
  expect([closed.code, closed.error.trim().split('\n').length]).toEqual([1, 1]);
  const empty = await createEmptyDatabase();
  const unmigrated = await gwk(['account', 'list'], { DATABASE_URL: empty.url });
  expect(unmigrated.error).toContain('gwk migrate');
  const migrated = await gwk(['migrate'], { DATABASE_URL: empty.url });
  expect(migrated.json).toEqual({ applied: expect.arrayContaining(['20261121000000_init']) as string[] });
  expect((await gwk(['migrate'], { DATABASE_URL: empty.url })).json).toEqual({ applied: [] });
  await empty.drop();
});

test.each([
  'api',
  'worker',
  'migrate',
  'account',
  'account create',
  'key',
  'key create',
  'policy set',
  'audit',
  'encryption reencrypt',
])('gwk %s --help prints its usage', async (command) => {
  const { code, json } = await gwk([...command.split(' '), '--help'], {});
  expect([code, json]).toEqual([0, expect.stringContaining('Usage: gwk ' + command)]);
});

test('renames an account while it has no instances', async () => {
  await gwk(['account', 'create', 'before']);
  const renamed = await gwk(['account', 'rename', 'before', 'after']);
  expect(renamed).toMatchObject({ code: 0, json: { name: 'after' } });
  const taken = await gwk(['account', 'rename', 'after', 'acme']);
  expect([taken.code, taken.error]).toEqual([1, 'gwk account rename: account "acme" already exists\n']);
});

test('pins the client version, shows it and takes it back', async () => {
  const version = '2.3000.1044142122';
  const pinned = { version, at: expect.any(String) as string, by: expect.stringMatching(/^cli:/) as string };
  expect((await gwk(['network-version', 'pin', version])).json).toMatchObject({ pinned });
  expect((await gwk(['network-version', 'show'])).json).toMatchObject({
    pinned,
    served: null,
    bundled: BUNDLED,
    bundled_days_behind: 0,
    last_read: null,
    versions: [{ version, accepted_at: null, refused_at: null }],
  });
  expect((await gwk(['network-version', 'unpin'])).json).toMatchObject({ pinned: null });
});

test.each([
  ['2.3000.1', 'version: must be a version such as 2.3000.1044142122'],
  ['latest', 'version: must be a version such as 2.3000.1044142122'],
  ['2.3000.1000000000', 'version: is so old that the network cannot accept it'],
  ['2.3000.1299999999', 'version: is newer than any version that the network can have by now'],
])('does not pin %s', async (version, fault) => {
  const { code, error } = await gwk(['network-version', 'pin', version]);
  expect([code, error]).toEqual([1, expect.stringContaining(fault)]);
  expect((await gwk(['network-version', 'show'])).json).toMatchObject({ pinned: null });
});
