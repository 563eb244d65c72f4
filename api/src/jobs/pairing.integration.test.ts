import { newUuid } from '@gwk/core/ids/ids';
import { createJobWorld, type JobWorld } from '@gwk/test/support/api/jobs';
import { emit, instanceEvent } from '../events/emit.js';
import { IdempotencyStore } from '../http/idempotency/store.js';
import { expireEventCode } from '../instances/pairing/engine-updates.js';
import { pairingJob } from './pairing.js';

let given: JobWorld;
let instanceId: string;
let accountId: string;
beforeAll(async () => {
  given = await createJobWorld();
});
beforeEach(async () => {
  instanceId = await given.world.addInstance();
  ({ accountId } = await given.world.database.instance.findUniqueOrThrow({ where: { id: instanceId } }));
});
afterAll(() => given.world.close());

const inMs = (ms: number): Date => new Date(Date.now() + ms);
const pass = () => pairingJob(given.deps).pass();

async function writeQr(expiresAt: Date): Promise<void> {
  const { database, sealer } = given.world;
  await database.$transaction(async (tx) => {
    const draft = instanceEvent('instance.qr', { accountId, instanceId }, new Date(), {
      code: 'marker-of-a-code',
      expires_in_s: 20,
    });
    const [id] = await emit(tx, sealer, [draft]);
    await expireEventCode(tx, sealer, { id: id!, accountId, data: draft.data, expiresAt });
  });
}

test('removes data.code of instance.qr from the history when it expires, and keeps the rest of the event', async () => {
  await writeQr(inMs(3_600_000));
  await writeQr(inMs(-1));
  await pass();
  const codes = (await given.events(instanceId)).map(({ data }) => [data['code'], data['expires_in_s']]);
  expect(codes).toEqual([
    ['marker-of-a-code', 20],
    [undefined, 20],
  ]);
});

test('removes an expired code from idempotency records: a replay answers with the rest', async () => {
  const { database, sealer } = given.world;
  const store = new IdempotencyStore(database, sealer);
  const route = 'POST /v1/instances/{instance_id}/pairing';
  const request = { accountId, route, key: newUuid(), bodyHash: Buffer.from('hash'), instanceId };
  const begun = await store.begin(request);
  if (begun.kind !== 'fresh') throw new Error(begun.kind);
  const bodyAfter = { state: 'pairing', qr: null };
  await store.complete(begun.mark, {
    status: 200,
    body: { state: 'pairing', qr: { code: 'marker' } },
    expiring: { at: inMs(-1), bodyAfter },
  });
  expect(await store.begin(request)).toMatchObject({ kind: 'replay', body: { qr: { code: 'marker' } } });
  await pass();
  expect(await store.begin(request)).toMatchObject({ kind: 'replay', status: 200, body: bodyAfter });
});

test('removes an expired code from its pairing session, which stays open', async () => {
  const { database } = given.world;
  await database.pairingSession.create({
    data: {
      ...{ instanceId, id: newUuid(), method: 'qr', state: 'pairing' },
      ...{ codeSealed: Buffer.from('x'), expiresAt: inMs(-1) },
    },
  });
  await pass();
  const session = await database.pairingSession.findUniqueOrThrow({ where: { instanceId } });
  expect(session).toMatchObject({ state: 'pairing', codeSealed: null });
});

test('closes a session after three minutes without an update from an engine', async () => {
  const { database } = given.world;
  const silent = await given.world.addInstance();
  for (const [id, age] of [
    [instanceId, 60_000],
    [silent, 181_000],
  ] as const) {
    const data = { instanceId: id, id: newUuid(), method: 'qr', state: 'pairing', updatedAt: inMs(-age) };
    await database.pairingSession.create({ data });
  }
  await pass();
  const sessions = await database.pairingSession.findMany({
    where: { instanceId: { in: [instanceId, silent] } },
  });
  const results = new Map(sessions.map((session) => [session.instanceId, [session.state, session.error]]));
  expect(results.get(instanceId)).toEqual(['pairing', null]);
  expect(results.get(silent)).toEqual(['closed', 'engine_silent']);
});
