import { newUuid } from '@gwk/core/ids/ids';
import { createWorld, type World } from '@gwk/test/support/api/acceptance';
import { runGwk } from '@gwk/test/support/api/gwk';
import type { Database } from '../database/database.js';

let world: World;
let db: Database;
let instanceId: string;
beforeAll(async () => {
  world = await createWorld();
  db = world.database;
  instanceId = world.instances[0]!;
});
afterAll(() => world.close());

const NOTHING_ELSE = { user_sessions: 0, handoffs: 0, invitations: 0, pinned_client_version: null };

const runAfterRestore = () => runGwk(['after-restore'], { DATABASE_URL: world.databaseUrl });

/** Adds keys, also more than one batch of deletions. */
async function addKeys(type: string, amount: number): Promise<void> {
  await db.$executeRaw`
    INSERT INTO session_keys (instance_id, type, key, value_sealed)
    SELECT ${instanceId}::uuid, ${type}, 'k' || i, '\\x00' FROM generate_series(1, ${amount}::integer) i`;
}

test('deletes all Signal sessions and keeps the keys that link the account', async () => {
  for (const [type, amount] of [
    ['session', 12_000],
    ['sender-key', 3],
    ['sender-key-memory', 2],
    ['creds', 1],
    ['pre-key', 6_000],
  ] as const)
    await addKeys(type, amount);
  const token = newUuid();
  await db.engineToken.create({
    data: { id: token, instanceId, pod: 'pod-1', hash: new Uint8Array([1]) },
  });
  const { code, json, error } = await runAfterRestore();
  expect([code, error, json]).toEqual([0, '', { ratchets: 12_005, engine_tokens: 1, ...NOTHING_ELSE }]);
  const left = await db.sessionKey.groupBy({ by: ['type'], _count: true, orderBy: { type: 'asc' } });
  expect(left).toEqual([
    { type: 'creds', _count: 1 },
    { type: 'pre-key', _count: 6_000 },
  ]);
  expect((await db.engineToken.findUniqueOrThrow({ where: { id: token } })).revokedAt).not.toBeNull();
  const entries = await db.auditEntry.findMany({ where: { action: 'database.restored' } });
  expect(entries.map(({ detail }) => detail)).toEqual([json]);
  expect((await runAfterRestore()).json).toEqual({ ratchets: 0, engine_tokens: 0, ...NOTHING_ELSE });
});

test('later events come after all that a client can have read', async () => {
  const position = async () =>
    (await db.$queryRaw<{ position: bigint }[]>`SELECT gwk_event_position() AS position`)[0]!.position;
  const { accountId } = await db.instance.findUniqueOrThrow({ where: { id: instanceId } });
  const event = { accountId, type: 'message.sent', timestamp: new Date(), dataSealed: new Uint8Array() };
  // The position comes from a server with more transactions than this one.
  const restored = (await position()) + 5_000_000n;
  await db.event.create({ data: { ...event, id: newUuid(), position: restored } });
  await runAfterRestore();
  const { position: next } = await db.event.create({ data: { ...event, id: newUuid() } });
  expect(next).toBeGreaterThan(restored);
  await runAfterRestore();
  expect(await position()).toBeGreaterThan(next + 1_000_000n);
});

test('runs without a statement timeout on a slow database', async () => {
  await addKeys('session', 1);
  await db.$executeRaw`
    CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF current_setting('statement_timeout') <> '0' THEN RAISE 'it may take no longer than that'; END IF;
        RETURN NULL;
      END $$`;
  await db.$executeRaw`
    CREATE TRIGGER seen AFTER DELETE ON session_keys FOR EACH STATEMENT EXECUTE FUNCTION seen()`;
  const { code, json, error } = await runAfterRestore();
  expect([code, error, json]).toEqual([0, '', { ratchets: 1, engine_tokens: 0, ...NOTHING_ELSE }]);
});

test('ends sessions, links and invitations, which the backup may have revived', async () => {
  const { accountId } = await db.instance.findUniqueOrThrow({ where: { id: instanceId } });
  const userId = newUuid();
  await db.user.create({ data: { id: userId, email: 'ana@example.org', name: 'Ana' } });
  const row = () => ({
    id: newUuid(),
    tokenHash: new Uint8Array(Buffer.from(newUuid())),
    expiresAt: new Date(Date.now() + 60_000),
  });
  await db.userSession.create({ data: { ...row(), userId, address: '', userAgent: '' } });
  await db.handoff.create({ data: { ...row(), userId } });
  await db.invitation.create({ data: { ...row(), accountId, email: 'eva@example.org', role: 'viewer' } });
  expect((await runAfterRestore()).json).toMatchObject({ user_sessions: 1, handoffs: 1, invitations: 1 });
  const left = [await db.userSession.count(), await db.handoff.count(), await db.invitation.count()];
  expect([left, await db.user.count()]).toEqual([[0, 0, 0], 1]);
});
