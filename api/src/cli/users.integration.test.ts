import { createTestDatabase, type TestDatabase } from '@gwk/test/support/servers/database';
import { runGwk } from '@gwk/test/support/api/gwk';
import { hashToken, newToken } from '../accounts/sessions.js';
import { Passwords } from '../people/passwords.js';
import { codeSubject, verifyWithinLimits } from '../people/sign-in/attempts.js';
import { redeemHandoff } from '../people/sign-in/handoffs.js';
import { openDatabase, type Database } from '../database/database.js';
import { fromPublicId, newUuid } from '@gwk/core/ids/ids';

let database: TestDatabase;
let db: Database;

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url, poolSize: 2, program: 'test' });
  await gwk('account', 'create', 'acme');
});
afterAll(async () => {
  await db.$disconnect();
  await database.drop();
});

const gwk = (...args: string[]) =>
  runGwk(args, { DATABASE_URL: database.url, GWK_API_BASE_URL: 'https://gwk.example.com' });

test('creates a user with a role, changes the role and lists it', async () => {
  const made = await gwk('user', 'create', 'Ana@Example.org', '--name', 'Ana', '--account', 'acme');
  expect(made).toMatchObject({
    code: 0,
    json: { email: 'ana@example.org', name: 'Ana', is_platform_admin: false, has_password: false },
  });
  expect(made.json).toMatchObject({ accounts: [{ account: 'acme', role: 'owner' }] });
  expect((await gwk('user', 'create', 'ana@example.org')).error).toContain('already exists');
  expect((await gwk('user', 'create', 'ana')).error).toContain('must be an e-mail address');
  expect((await gwk('user', 'role', 'ana@example.org', 'acme', 'boss')).error).toContain(
    'unknown role "boss"',
  );
  const changed = await gwk('user', 'role', 'ana@example.org', 'acme', 'viewer');
  expect(changed.json).toMatchObject({ accounts: [{ account: 'acme', role: 'viewer' }] });
  await gwk('user', 'role', 'ana@example.org', 'acme', 'none');
  const promoted = await gwk('user', 'create', 'ana@example.org', '--existing', '--platform-admin');
  expect(promoted.json).toMatchObject({ is_platform_admin: true, accounts: [] });
  expect((await gwk('user', 'list')).json).toEqual([promoted.json]);
  const actions = await db.auditEntry.findMany({ orderBy: { id: 'asc' } });
  expect(actions.map(({ action }) => action)).toEqual([
    'account.create',
    'user.create',
    'member.role',
    'member.role',
    'member.role',
    'user.create',
  ]);
});

test('takes all accounts away from an administrator of the platform, and gives them back', async () => {
  await gwk('user', 'create', 'leo@example.org', '--platform-admin', '--account', 'acme', '--role', 'viewer');
  const admin = (...args: string[]) => gwk('user', 'admin', 'leo@example.org', ...args);
  expect((await admin('--off')).json).toMatchObject({
    is_platform_admin: false,
    accounts: [{ account: 'acme', role: 'viewer' }],
  });
  expect((await admin('--on')).json).toMatchObject({ is_platform_admin: true });
  expect((await admin()).error).toContain('--on or --off');
  expect((await admin('--on', '--off')).code).not.toBe(0);
  const entries = await db.auditEntry.findMany({ where: { action: 'user.admin' }, orderBy: { id: 'asc' } });
  expect(entries.map(({ detail }) => detail)).toEqual([{ platform_admin: false }, { platform_admin: true }]);
});

test('names the way to a second factor that the gateway requires of administrators', async () => {
  const environment = { DATABASE_URL: database.url, GWK_API_CONSOLE_ADMIN_MFA: 'on' };
  const run = (...args: string[]) => runGwk(['user', ...args], environment);
  const hint = expect.stringContaining('gwk user handoff bia@example.org --seconds 600');
  expect((await run('create', 'bia@example.org', '--platform-admin')).json).toMatchObject({ hint });
  expect((await run('admin', 'bia@example.org', '--off')).json).not.toHaveProperty('hint');
  expect((await run('admin', 'bia@example.org', '--on')).json).toMatchObject({ hint });
  expect((await gwk('user', 'admin', 'bia@example.org', '--on')).json).not.toHaveProperty('hint');
  const { id: userId } = await db.user.findUniqueOrThrow({ where: { email: 'bia@example.org' } });
  await db.user.update({
    where: { id: userId },
    data: { totpSealed: new Uint8Array(1), totpConfirmedAt: new Date() },
  });
  expect((await run('admin', 'bia@example.org', '--on')).json).not.toHaveProperty('hint');
  await db.user.delete({ where: { id: userId } });
});

test('gives rights to a known user only with --existing and a role', async () => {
  const create = (...args: string[]) => gwk('user', 'create', 'bo@example.org', ...args);
  expect((await create('--existing', '--account', 'acme', '--role', 'viewer')).error).toContain('not found');
  await create('--account', 'acme', '--role', 'viewer');
  for (const args of [['--account', 'acme'], ['--platform-admin']]) {
    expect((await create(...args)).error).toMatch(/already exists, made 2\S+Z by gwk user create;/);
  }
  expect((await create('--existing')).error).toContain('needs --account or --platform-admin');
  expect((await create('--existing', '--account', 'acme')).error).toContain('needs --role');
  const given = await create('--existing', '--account', 'acme', '--role', 'agent');
  expect(given.json).toMatchObject({ is_platform_admin: false, accounts: [{ role: 'agent' }] });
});

test('names the account whose invitation made a user', async () => {
  const { id: accountId } = await db.account.findUniqueOrThrow({ where: { name: 'acme' } });
  const id = newUuid();
  await db.user.create({ data: { id, email: 'kim@example.org', name: 'Kim' } });
  const entry = { id: newUuid(), actor: `user:${id}`, action: 'user.create', subject: id };
  await db.auditEntry.create({ data: { ...entry, accountId } });
  const { code, error } = await gwk('user', 'create', 'kim@example.org', '--platform-admin');
  expect([code, error]).toEqual([1, expect.stringContaining('by an invitation of the account "acme"')]);
});

test('lists the restriction of a member, and lifts it with a new role', async () => {
  const made = await gwk('user', 'create', 'lia@example.org', '--account', 'acme', '--role', 'viewer');
  const userId = fromPublicId('user', (made.json as { id: string }).id)!;
  await db.member.updateMany({ where: { userId }, data: { restricted: true } });
  const list = (await gwk('user', 'list')).json as { email: string; accounts: unknown[] }[];
  expect(list.find(({ email }) => email === 'lia@example.org')!.accounts).toEqual([
    { account: 'acme', role: 'viewer', instance_ids: [] },
  ]);
  expect((await gwk('user', 'role', 'lia@example.org', 'acme', 'owner')).json).toMatchObject({
    accounts: [{ account: 'acme', role: 'owner', instance_ids: null }],
  });
});

test('ends the invitations that a member could have made when a new role makes none', async () => {
  await gwk('account', 'create', 'inviting');
  const { id: accountId } = await db.account.findUniqueOrThrow({ where: { name: 'inviting' } });
  const row = { accountId, email: 'second@example.org', role: 'agent' };
  const invite = () =>
    db.invitation.create({
      data: {
        ...row,
        id: newUuid(),
        tokenHash: hashToken(newToken()),
        expiresAt: new Date(Date.now() + 60_000),
      },
    });
  const countAfter = async (role: string) => {
    await gwk('user', 'role', 'gil@example.org', 'inviting', role);
    return db.invitation.count({ where: { accountId } });
  };
  await gwk('user', 'create', 'gil@example.org', '--account', 'inviting', '--role', 'viewer');
  await invite();
  expect([await countAfter('agent'), await countAfter('admin'), await countAfter('viewer')]).toEqual([
    1, 1, 0,
  ]);
  await countAfter('admin');
  await invite();
  expect(await countAfter('none')).toBe(0);
});

test('ends the invitations of a deleted user, and those of a former administrator of the platform', async () => {
  await gwk('account', 'create', 'left');
  await gwk('account', 'create', 'visited');
  const find = async (name: string) => (await db.account.findUniqueOrThrow({ where: { name } })).id;
  const [left, visited] = [await find('left'), await find('visited')];
  const invite = async (accountId: string, actor: string, role = 'agent') => {
    const id = newUuid();
    const row = { id, email: `${id}@example.org`, role, tokenHash: hashToken(newToken()) };
    await db.invitation.create({ data: { accountId, ...row, expiresAt: new Date(Date.now() + 60_000) } });
    const entry = { id: newUuid(), accountId, actor, action: 'invitation.create', subject: id };
    await db.auditEntry.create({ data: entry });
  };
  const count = (accountId: string) => db.invitation.count({ where: { accountId } });
  const create = async (...args: string[]) => {
    const { json } = await gwk('user', 'create', ...args);
    return `user:${fromPublicId('user', (json as { id: string }).id)!}`;
  };
  const zoe = await create('zoe@example.org', '--platform-admin', '--account', 'left', '--role', 'admin');
  for (const account of [left, visited]) await invite(account, zoe);
  await invite(left, zoe, 'owner');
  await invite(visited, 'user:another');
  await gwk('user', 'admin', 'zoe@example.org', '--off');
  expect([await count(left), await count(visited)]).toEqual([1, 1]);
  await gwk('user', 'admin', 'zoe@example.org', '--on');
  await invite(visited, zoe);
  await gwk('user', 'delete', 'zoe@example.org');
  expect([await count(left), await count(visited)]).toEqual([0, 1]);
});

test('resets a user: a new password, no second factor, no sessions, no links and no failures', async () => {
  const made = await gwk('user', 'create', 'eva@example.org');
  const userId = fromPublicId('user', (made.json as { id: string }).id)!;
  const expiresAt = new Date(Date.now() + 60_000);
  const row = { id: newUuid(), userId, tokenHash: hashToken(newToken()), expiresAt };
  await db.userSession.create({ data: { ...row, address: '', userAgent: '' } });
  await db.user.update({
    where: { id: userId },
    data: { totpSealed: new Uint8Array(1), totpConfirmedAt: new Date() },
  });
  const { url } = (await gwk('user', 'handoff', 'eva@example.org')).json as { url: string };
  for (const subject of ['eva@example.org', codeSubject(userId), 'other@example.org']) {
    const attempt = { subject, userId, client: '192.0.2.1', step: 'password' } as const;
    await verifyWithinLimits(db, attempt, () => Promise.resolve(false));
  }
  const { json } = await gwk('user', 'reset', 'eva@example.org');
  const { password } = json as { password: string };
  expect(password).toMatch(/^([a-z2-9]{5}-){4}[a-z2-9]{5}$/);
  const user = await db.user.findUniqueOrThrow({ where: { id: userId } });
  expect(await new Passwords().verify(password, user.passwordHash)).toBe(true);
  expect([user.totpConfirmedAt, await db.userSession.count({ where: { userId } })]).toEqual([null, 0]);
  await expect(redeemHandoff(db, url.split('token=')[1]!)).rejects.toThrow('handoff-invalid');
  expect(await db.signInFailure.count()).toBe(1);
  expect(JSON.stringify(await db.auditEntry.findMany())).not.toContain(password);
});

test('prints a link that is valid once, and deletes a user', async () => {
  await gwk('user', 'create', 'rui@example.org');
  const { json } = await gwk('user', 'handoff', 'rui@example.org', '--seconds', '600');
  const { url, expires_at } = json as { url: string; expires_at: string };
  expect(url).toMatch(/^https:\/\/gwk\.example\.com\/console\/handoff#token=[\w-]{43}$/);
  expect(Date.parse(expires_at)).toBeGreaterThan(Date.now() + 60_000);
  const user = await db.user.findUniqueOrThrow({ where: { email: 'rui@example.org' } });
  expect((await redeemHandoff(db, url.split('token=')[1]!)).id).toBe(user.id);
  expect((await gwk('user', 'handoff', 'nobody@example.org')).error).toContain('not found');
  expect((await gwk('user', 'handoff', 'rui@example.org', '--seconds', '3601')).code).toBe(1);
  expect((await gwk('user', 'delete', 'rui@example.org')).json).toMatchObject({ deleted: true });
  expect(await db.user.count({ where: { id: user.id } })).toBe(0);
});
