import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import { projectResource } from '../instances/projection.js';
import {
  NO_LIVE_ENGINES,
  sharedInternalApi,
  readRefusal,
  type InternalApiWorld,
} from '@gwk/test/support/api/internal-api';
import { until } from '@gwk/test/support/wait';

let internalApi: InternalApiWorld;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
});
afterAll(() => internalApi.close());

const resource = (name: string, given: { generation?: number; uid?: string } = {}): InstanceResource => ({
  apiVersion: 'gwk.dev/v1',
  kind: 'Instance',
  metadata: {
    name,
    namespace: 'default',
    uid: given.uid ?? newUuid(),
    generation: given.generation ?? 1,
    resourceVersion: '1',
    creationTimestamp: new Date().toISOString(),
  },
  spec: {
    account: internalApi.world.accountId,
    kind: 'sandbox',
    interactiveMode: 'text',
    onOtherAccount: 'refuse',
    suspended: false,
  },
});
const project = async (given: InstanceResource) => {
  const projection = await internalApi.operator.call('project', { resource: given });
  if (!projection.accepted) throw new Error(projection.reason);
  return projection.facts;
};

test('projects a resource as a row whose engine gets a token and acquires a lease', async () => {
  const began = Date.now();
  const given = resource('first');
  const facts = await project(given);
  expect(facts).toMatchObject({
    state: 'connecting',
    pairing: false,
    lease: { pod: null, epoch: 0, expires_at: null },
  });
  expect((await project(given)).id).toBe(facts.id);
  const engine = await (await internalApi.addPod(facts.id, 'pod-1')).acquire();
  const { lease } = await project(given);
  expect(lease).toMatchObject({ pod: 'pod-1', epoch: 1 });
  expect(Date.parse(lease.expires_at!)).toBeGreaterThanOrEqual(began + 45_000);
  expect(engine.terms!.instance).toMatchObject({
    kind: 'sandbox',
    state: 'connecting',
  });
});

test('reads no other instance for an unchanged resource, and counts them only for a new one', async () => {
  const { database, sealer } = internalApi.world;
  const config = { environment: 'test', clusterNamespace: 'default', maxInstances: 10 };
  const reads = (given: InstanceResource) =>
    database.$transaction(async (tx) => {
      const read: string[] = [];
      const instance = new Proxy(tx.instance, {
        get(target, name: 'findFirst') {
          read.push(name);
          return target[name];
        },
      });
      const recording = new Proxy(tx, {
        get: (target, name: 'instance') => (name === 'instance' ? instance : target[name]),
      });
      await projectResource(recording, { config, sealer }, given);
      return read;
    });
  const given = { ...resource('reads'), spec: { ...resource('reads').spec, kind: 'web' as const } };
  expect(await reads(given)).toContain('count');
  expect(await reads(given)).toEqual(['findFirst']);
  const changed = { ...given, metadata: { ...given.metadata, generation: 2 } };
  expect(await reads(changed)).toEqual(['findFirst', 'findFirst', 'update']);
});

test('refuses a resource with a reason', async () => {
  const given = resource('second');
  const foreign = { ...given, spec: { ...given.spec, account: 'nobody' } };
  const projection = await internalApi.operator.call('project', { resource: foreign });
  expect(projection).toMatchObject({ accepted: false, reason: 'AccountNotAllowed' });
});

describe('of a suspended account', () => {
  const suspend = (suspendedAt: Date | null) =>
    internalApi.world.database.account.update({
      where: { id: internalApi.world.accountId },
      data: { suspendedAt },
    });
  afterEach(() => suspend(null));
  const web = (name: string): InstanceResource => {
    const given = resource(name);
    return { ...given, spec: { ...given.spec, kind: 'web' } };
  };

  test('refuses a new resource until the suspension ends, and keeps the others', async () => {
    const known = web('before-suspension');
    await project(known);
    await suspend(new Date());
    const given = web('during-suspension');
    const refused = { accepted: false, reason: 'AccountSuspended', facts: null };
    expect(await internalApi.operator.call('project', { resource: given })).toMatchObject(refused);
    const where = { resourceUid: given.metadata.uid };
    expect(await internalApi.world.database.instance.count({ where })).toBe(0);
    await project({ ...known, metadata: { ...known.metadata, generation: 2 } });
    await suspend(null);
    await project(given);
  });

  test('opens no pairing, and says so as long as the operator asks', async () => {
    const { id: instance_id } = await project(web('pair-suspended'));
    const pair = (open: { method: 'qr'; phone: null } | null) =>
      internalApi.operator.call('pair', { instance_id, open });
    await suspend(new Date());
    for (const open of [{ method: 'qr', phone: null } as const, null])
      expect(await pair(open)).toMatchObject({ open: false, error: 'the account is suspended' });
    expect(
      await internalApi.world.database.pairingSession.count({ where: { instanceId: instance_id } }),
    ).toBe(0);
    await suspend(null);
    expect(await pair({ method: 'qr', phone: null })).toMatchObject({ open: true, error: null });
  });
});

test('a changed resource lets its engine renew at once', async () => {
  const ask = jest.spyOn(NO_LIVE_ENGINES, 'ask');
  const given = resource('changed');
  const { id } = await project(given);
  const { metadata } = given;
  await project({ ...given, metadata: { ...metadata, generation: 2 } });
  await (await internalApi.addPod(id, 'pod-1')).acquire();
  await project({ ...given, metadata: { ...metadata, generation: 3 } });
  await until(() => ask.mock.calls.length > 0, { what: 'the engine is asked' });
  await project({ ...given, metadata: { ...metadata, generation: 3 } });
  expect(ask.mock.calls.map(([target, name]) => [target.id, name])).toEqual([[id, 'renew']]);
  ask.mockRestore();
});

test('removal cancels queued messages, refuses the engine, and cleans up Redis once the engine has ended', async () => {
  const given = resource('third');
  const { id } = await project(given);
  const began = Date.now();
  const engine = await (await internalApi.addPod(id, 'pod-1')).acquire();
  const waiting = await internalApi.accept({ instance: id, to: '5511955550001' });
  await engine.call('session-write', { entries: [{ type: 'creds', key: 'me', value: 'AAAA' }] });
  const user = internalApi.world.keys.engineUser(id);
  const users = async () =>
    (await internalApi.world.redis.sendCommand(['ACL', 'USERS'])) as unknown as string[];

  const removed = await internalApi.operator.call('remove', { uid: given.metadata.uid });
  expect(Date.parse(removed.lease_expires_at!)).toBeGreaterThanOrEqual(began + 45_000);
  expect(await users()).toContain(user);
  const { database } = internalApi.world;
  expect(await database.message.findUnique({ where: { id: waiting } })).toMatchObject({
    errorCode: 'canceled',
  });
  expect(await database.sessionKey.count({ where: { instanceId: id } })).toBe(0);
  expect(await readRefusal(engine.claim())).toBe('gone');
  expect(
    await readRefusal(engine.call('session-write', { entries: [{ type: 'a', key: 'b', value: 'AAAA' }] })),
  ).toBe('gone');

  const keys = internalApi.world.keys.engineKeys(id, engine.lease.epoch);
  for (const key of keys) await internalApi.world.redis.set(key, '1');
  await internalApi.operator.call('engine-ended', { instance_id: id, pod: 'pod-1' });
  expect(await internalApi.operator.call('remove', { uid: given.metadata.uid })).toEqual({
    lease_expires_at: null,
  });
  expect(await users()).not.toContain(user);
  expect(await internalApi.world.redis.exists(keys)).toBe(0);
});

test('removal of an unknown resource succeeds', async () => {
  expect(await internalApi.operator.call('remove', { uid: newUuid() })).toEqual({ lease_expires_at: null });
});

test('gives the operator no phone number, because it would show it to all who can read Instances', async () => {
  const facts = await project(resource('paired'));
  await internalApi.world.database.instance.update({
    where: { id: facts.id },
    data: { jid: '5511999990000:1@s.whatsapp.net' },
  });
  const observed = await internalApi.operator.call('observe', { ids: [facts.id] });
  expect(observed.instances).toHaveLength(1);
  expect(JSON.stringify(observed)).not.toContain('5511999990000');
});

test('observes many instances at once, and omits unknown ones', async () => {
  const known = await Promise.all(
    ['fourth', 'fifth'].map((name) => project(resource(name)).catch(() => null)),
  );
  const ids = known.flatMap((facts) => (facts ? [facts.id] : []));
  const { instances } = await internalApi.operator.call('observe', { ids: [...ids, newUuid()] });
  expect(instances.map(({ id }) => id).sort()).toEqual([...ids].sort());
});

test('observes each fact of an instance, with times in UTC', async () => {
  const { database } = internalApi.world;
  const { instanceId: id } = await internalApi.addEngine();
  const times = {
    stateChangedAt: new Date(1e12),
    firstPairedAt: new Date(1e12 + 1),
    bannedUntil: new Date(2e12),
  };
  await database.instance.update({ where: { id }, data: { ...times, state: 'banned', stateReason: 'spam' } });
  const lease = { epoch: 7, holder: newUuid(), pod: 'pod-1', expiresAt: new Date(1e12 + 250) };
  await database.instanceLease.update({ where: { instanceId: id }, data: lease });
  const observe = async () => (await internalApi.operator.call('observe', { ids: [id] })).instances;
  const facts = {
    id,
    digest: expect.any(String) as string,
    state: 'banned',
    state_reason: 'spam',
    state_changed_at: '2001-09-09T01:46:40.000Z',
    first_paired_at: '2001-09-09T01:46:40.001Z',
    banned_until: '2033-05-18T03:33:20.000Z',
    pairing: false,
    lease: { pod: 'pod-1', epoch: 7, expires_at: '2001-09-09T01:46:40.250Z' },
  };
  expect(await observe()).toEqual([facts]);

  await database.instanceLease.update({ where: { instanceId: id }, data: { holder: null } });
  await database.instance.update({ where: { id }, data: { unlinkId: newUuid() } });
  const released = { pod: null, epoch: 7, expires_at: null };
  expect(await observe()).toEqual([{ ...facts, pairing: true, lease: released }]);

  await database.instance.update({ where: { id }, data: { deletedAt: new Date() } });
  expect(await observe()).toEqual([]);
});

test('observes 1,000 instances with the longest digests in one call', async () => {
  const ids = Array.from({ length: 1000 }, newUuid);
  const digests = ids.map(() => String(-(2n ** 63n)));
  expect((await internalApi.operator.call('observe', { ids, digests })).gone).toHaveLength(1000);
});

test('repeats no facts that the operator knows, except for the end of the lease', async () => {
  const { database } = internalApi.world;
  const { instanceId: id } = await internalApi.addEngine();
  const { instanceId: other } = await internalApi.addEngine();
  const unknown = newUuid();
  const ids = [unknown, id, other];
  const { instances } = await internalApi.operator.call('observe', { ids });
  const digests = ids.map((one) => instances.find((facts) => facts.id === one)?.digest ?? '');
  const observe = () => internalApi.operator.call('observe', { ids, digests });
  const nothing = { instances: [], gone: [unknown], leases_end_at: [null, null, null] };
  expect(await observe()).toEqual(nothing);

  const lease = { epoch: 1, holder: newUuid(), pod: 'pod-1', expiresAt: new Date(1e12 + 250) };
  await database.instanceLease.update({ where: { instanceId: id }, data: lease });
  const taken = await observe();
  expect(taken).toMatchObject({ instances: [{ id }], leases_end_at: [null, 1e12 + 250, null] });
  digests[1] = taken.instances[0]!.digest;
  await database.instanceLease.update({ where: { instanceId: id }, data: { expiresAt: new Date(2e12) } });
  expect(await observe()).toEqual({ ...nothing, leases_end_at: [null, 2e12, null] });
  await database.instance.update({ where: { id }, data: { state: 'disconnected' } });
  expect(await observe()).toMatchObject({ instances: [{ id, state: 'disconnected' }] });
});

test('issuing a token deletes tokens revoked long ago', async () => {
  const engine = await internalApi.addEngine();
  const where = { instanceId: engine.instanceId };
  const yesterday = new Date(Date.now() - 25 * 3_600_000);
  await internalApi.world.database.engineToken.updateMany({ where, data: { revokedAt: yesterday } });
  await internalApi.addPod(engine.instanceId, 'pod-2');
  expect(await internalApi.world.database.engineToken.count({ where })).toBe(1);
});

describe('pairing from the cluster', () => {
  const web = async (name: string) => {
    const given = resource(name);
    return project({ ...given, spec: { ...given.spec, kind: 'web' } });
  };
  const open = { method: 'qr', phone: null } as const;
  const pair = (id: string, request: { method: 'qr' | 'code'; phone: string | null } | null) =>
    internalApi.operator.call('pair', { instance_id: id, open: request });

  test('opens a session, requests an engine, and returns the code that the engine shows', async () => {
    const { id } = await web('pair-one');
    expect(await pair(id, null)).toMatchObject({ state: 'pending_pair', open: false, code: null });
    expect(await pair(id, open)).toMatchObject({ open: true, code: null, error: null });
    const [seen] = (await internalApi.operator.call('observe', { ids: [id] })).instances;
    expect(seen!.pairing).toBe(true);

    const engine = await (await internalApi.addPod(id, 'pod-1')).acquire();
    const session = engine.terms!.pairing!.session;
    const news = { kind: 'qr' as const, code: '2@shown', expires_in_ms: 120_000 };
    const began = Date.now();
    await engine.call('pairing', { session, news });
    const shown = await pair(id, null);
    expect(shown).toMatchObject({ open: true, code: '2@shown' });
    expect(Date.parse(shown.code_expires_at!)).toBeGreaterThanOrEqual(began + 120_000);
    expect(await pair(id, open)).toMatchObject({ code: '2@shown' });

    // The earlier update, whose answer was late, arrives now.
    const older = { kind: 'qr' as const, code: '2@older', expires_in_ms: 20_000 };
    expect(await engine.repeat('pairing', { session, news: older }, engine.number)).toEqual({ open: true });
    expect(await pair(id, null)).toMatchObject({ code: '2@shown' });

    await engine.call('pairing', { session, news: { kind: 'failed', reason: 'timeout' } });
    expect(await pair(id, null)).toMatchObject({ open: false, code: null, error: 'timeout' });
    expect(await pair(id, open)).toMatchObject({ open: true, code: null, error: null });
  });

  test('returns the page of the console while the phone waits for a passkey', async () => {
    const { id } = await web('pair-passkey');
    expect(await pair(id, open)).toMatchObject({ passkey: null });
    // Passkeys are off by default.
    await internalApi.world.database.pairingSession.update({
      where: { instanceId: id },
      data: { passkeys: true },
    });
    const engine = await (await internalApi.addPod(id, 'pod-1')).acquire();
    const session = engine.terms!.pairing!.session;
    const options = { challenge: 'Y2hhbGxlbmdl', rpId: 'whatsapp.com' as const };
    await engine.call('pairing', { session, news: { kind: 'passkey', options, expires_in_ms: 600_000 } });
    const { passkey, ...shown } = await pair(id, null);
    expect(shown).toMatchObject({ open: true, code: null, error: null });
    const account = toPublicId('account', internalApi.world.accountId);
    const page = `https://gwk.example.org/console/${account}/numbers/${toPublicId('instance', id)}/pairing`;
    expect(passkey).toEqual({ page });
    expect(JSON.stringify(shown)).not.toContain(options.challenge);

    await engine.call('pairing', { session, news: { kind: 'failed', reason: 'passkey_expired' } });
    expect(await pair(id, null)).toMatchObject({ open: false, passkey: null });
  });

  test('writes an audit entry', async () => {
    const { id } = await web('pair-two');
    await pair(id, { method: 'code', phone: '5511999990000' });
    const entries = await internalApi.world.database.auditEntry.findMany({ where: { subject: id } });
    expect(entries).toContainEqual(expect.objectContaining({ action: 'instance.pair', actor: 'cluster' }));
  });

  test('opens no session for an instance that is paired', async () => {
    const id = await internalApi.world.addInstance({ state: 'connecting' });
    expect(await pair(id, open)).toMatchObject({ state: 'connecting', open: false });
    expect(await internalApi.world.database.pairingSession.count({ where: { instanceId: id } })).toBe(0);
  });

  test('is refused for a deleted instance', async () => {
    expect(await readRefusal(pair(newUuid(), open))).toBe('gone');
    expect(await readRefusal(pair(newUuid(), null))).toBe('gone');
  });
});
