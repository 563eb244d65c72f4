import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { createTestDatabase, type TestDatabase } from '@gwk/test/support/servers/database';
import { openDatabase, type Database } from '../database/database.js';
import { findRoleFor, hashToken, newToken, SessionDirectory } from './sessions.js';

/** Two replicas with one database and one clock. */
let database: TestDatabase;
let db: Database;
let now = 1_000_000;
let replicas: SessionDirectory[];
const accountId = newUuid();
const account = toPublicId('account', accountId);

beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url, poolSize: 4, program: 'test' });
  await db.account.create({ data: { id: accountId, name: 'acme' } });
});
beforeEach(() => {
  replicas = [1, 2].map(() => new SessionDirectory(db, () => now));
});
afterAll(async () => {
  await db.$disconnect();
  await database.drop();
});

async function makeSession() {
  const [userId, token, sessionId] = [newUuid(), newToken(), newUuid()];
  const expiresAt = new Date(Date.now() + 60_000);
  await db.user.create({ data: { id: userId, email: `${userId}@example.org`, name: 'Ana' } });
  await db.member.create({ data: { accountId, userId, role: 'owner' } });
  await db.userSession.create({
    data: { id: sessionId, userId, tokenHash: hashToken(token), address: '', userAgent: '', expiresAt },
  });
  return { userId, token, sessionId, place: { accountId_userId: { accountId, userId } } };
}

const rolesOf = async (token: string) =>
  Promise.all(replicas.map(async (replica) => (await replica.find(token, account))?.access?.role));

test('a changed role holds on every replica within 2 s', async () => {
  const { token, place } = await makeSession();
  expect(await rolesOf(token)).toEqual(['owner', 'owner']);
  await db.member.update({ where: place, data: { role: 'viewer' } });
  now += 2_000;
  expect(await rolesOf(token)).toEqual(['viewer', 'viewer']);
  await db.member.delete({ where: place });
  now += 2_000;
  expect(await rolesOf(token)).toEqual([undefined, undefined]);
});

test('an ended session is refused on every replica within 2 s, and at once where it ended', async () => {
  const { token, sessionId } = await makeSession();
  const isOpen = () =>
    Promise.all(replicas.map(async (replica) => (await replica.find(token, account)) !== null));
  expect(await isOpen()).toEqual([true, true]);
  await db.userSession.delete({ where: { id: sessionId } });
  replicas[0]!.clear();
  expect(await isOpen()).toEqual([false, true]);
  now += 2_000;
  expect(await isOpen()).toEqual([false, false]);
});

test('a lookup from before a change does not return to the cache after it', async () => {
  const { token, sessionId } = await makeSession();
  const [replica] = replicas;
  const before = replica!.find(token, account);
  replica!.clear();
  await before;
  await db.userSession.delete({ where: { id: sessionId } });
  expect(await replica!.find(token, account)).toBeNull();
});

test('a stream of a member ends with session, membership or restriction', async () => {
  const { userId, sessionId, place } = await makeSession();
  const findRole = () => findRoleFor(db, sessionId, { accountId, instanceId: newUuid() });
  expect(await findRole()).toBe('owner');
  await db.member.update({ where: place, data: { role: 'viewer' } });
  expect(await findRole()).toBe('viewer');
  await db.member.update({ where: place, data: { restricted: true } });
  expect(await findRole()).toBeNull();
  await db.user.update({ where: { id: userId }, data: { isPlatformAdmin: true } });
  expect(await findRole()).toBe('owner');
  await db.userSession.delete({ where: { id: sessionId } });
  expect(await findRole()).toBeNull();
});
