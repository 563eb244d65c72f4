import { newUuid } from '@gwk/core/ids';
import { openApi } from '@gwk/test/support/api/open-api';
import { query } from '@gwk/test/support/servers/database';
import type { TestApi } from '@gwk/test/support/api/test-api';
import { runGwk } from '@gwk/test/support/api/gwk';
import { makeWorld } from '@gwk/test/support/api/world';

let api: TestApi;
let instanceId: string;
beforeAll(async () => {
  api = await openApi();
  await makeWorld(api, await api.account());
  instanceId = (await api.db.instance.findFirstOrThrow()).id;
});
afterAll(() => api.stop());

const restored = () => runGwk(['restored'], { DATABASE_URL: api.options.databaseUrl });

/** Of more rows than are deleted at once. */
async function addKeys(type: string, amount: number): Promise<void> {
  await api.db.$executeRaw`
    INSERT INTO session_keys (instance_id, type, key, value_sealed)
    SELECT ${instanceId}::uuid, ${type}, 'k' || i, '\\x00' FROM generate_series(1, ${amount}::integer) i`;
}

test('ratchets go, whatever their number, and what links a number to its phone stays', async () => {
  for (const [type, amount] of [
    ['session', 12_000],
    ['sender-key', 3],
    ['sender-key-memory', 2],
    ['creds', 1],
    ['pre-key', 6_000],
  ] as const)
    await addKeys(type, amount);
  const token = newUuid();
  await api.db.engineToken.create({
    data: { id: token, instanceId, pod: 'pod-1', hash: new Uint8Array([1]) },
  });
  const { code, json, error } = await restored();
  expect([code, error, json]).toEqual([0, '', { ratchets: 12_005, engine_tokens: 1 }]);
  const left = await api.db.sessionKey.groupBy({ by: ['type'], _count: true, orderBy: { type: 'asc' } });
  expect(left).toEqual([
    { type: 'creds', _count: 1 },
    { type: 'pre-key', _count: 6_000 },
  ]);
  expect((await api.db.engineToken.findUniqueOrThrow({ where: { id: token } })).revokedAt).not.toBeNull();
  const entries = await api.db.auditEntry.findMany({ where: { action: 'database.restored' } });
  expect(entries.map(({ detail }) => detail)).toEqual([{ ratchets: 12_005, engine_tokens: 1 }]);
  expect((await restored()).json).toEqual({ ratchets: 0, engine_tokens: 0 });
});

test('a database that takes long is waited for', async () => {
  await addKeys('session', 1);
  await query(
    api.options.databaseUrl,
    `CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN PERFORM pg_sleep(6); RETURN NULL; END $$;
     CREATE TRIGGER slowly AFTER DELETE ON session_keys FOR EACH STATEMENT EXECUTE FUNCTION slowly()`,
  );
  const { code, json, error } = await restored();
  expect([code, error, json]).toEqual([0, '', { ratchets: 1, engine_tokens: 0 }]);
}, 60_000);
