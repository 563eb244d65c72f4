import {
  sharedInternalApi,
  OPERATOR_TOKEN,
  readRefusal,
  TestEngine,
  type InternalApiWorld,
} from '@gwk/test/support/api/internal-api';
import { EngineClient, InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import { newUuid } from '@gwk/core/ids/ids';

let internalApi: InternalApiWorld;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
});
afterAll(() => internalApi.close());

const acquireAgain = (engine: TestEngine) =>
  new TestEngine(engine.client, engine.instanceId, engine.pod, engine.token).acquire();
const renew = (engine: TestEngine) => engine.call('renew', { connected: true });
const endEngine = (engine: TestEngine) =>
  internalApi.operator.call('engine-ended', { instance_id: engine.instanceId, pod: engine.pod });
const readFacts = async (instanceId: string) =>
  (await internalApi.operator.call('observe', { ids: [instanceId] })).instances[0]!;

describe('a lease', () => {
  test('has the terms of the instance', async () => {
    const engine = await (await internalApi.addEngine({ policy: { messages_per_minute: 7 } })).acquire();
    expect(engine.terms).toMatchObject({
      epoch: 1,
      lease_ms: 45_000,
      renew_ms: 10_000,
      messages_per_minute: 7,
      instance: { id: engine.instanceId, kind: 'web', state: 'connected' },
    });
    expect(Buffer.from(engine.terms!.command_key, 'base64')).toHaveLength(32);
    expect(await renew(engine)).toEqual({
      lease_ms: 45_000,
      messages_per_minute: 7,
      reject_calls: false,
      pairing: null,
      unlink: null,
    });
    expect((await readFacts(engine.instanceId)).lease).toMatchObject({ pod: engine.pod, epoch: 1 });
  });

  test('is refused to a restarted process and to a newer pod, with the time until it expires', async () => {
    const acquiredAfter = Date.now();
    const engine = await (await internalApi.addEngine()).acquire();
    const newer = await internalApi.addPod(engine.instanceId, 'pod-2');
    for (const attempt of [() => acquireAgain(engine), () => newer.acquire()]) {
      const error = await attempt().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(InternalApiRefusal);
      const { refusal, retryAfterMs } = error as InternalApiRefusal;
      expect(refusal).toBe('lease-held');
      expect(retryAfterMs).toBeGreaterThanOrEqual(45_000 - (Date.now() - acquiredAfter));
      expect(retryAfterMs).toBeLessThanOrEqual(45_000);
    }
    await renew(engine);
  });

  test('passes to the next engine once the operator has seen its engine end, and fences the old one', async () => {
    const engine = await (await internalApi.addEngine()).acquire();
    await endEngine(engine);
    expect((await readFacts(engine.instanceId)).lease).toEqual({ pod: null, epoch: 1, expires_at: null });
    const next = await acquireAgain(engine);
    expect(next.lease.epoch).toBe(2);
    expect(await readRefusal(renew(engine))).toBe('fenced');
    expect(await readRefusal(renew(next))).toBe('answered');
  });

  test('is returned again to its holder after a lost answer, and to no other', async () => {
    const engine = await internalApi.addEngine();
    const ask = (holder: string) =>
      engine.client.call('acquire', { pod: engine.pod, version: 'test', holder });
    const holder = crypto.randomUUID();
    const answers = await Promise.all([ask(holder), ask(holder), ask(holder)]);
    expect(answers.map(({ epoch }) => epoch)).toEqual([1, 1, 1]);
    expect(new Set(answers.map(({ redis }) => redis.password)).size).toBe(1);
    expect(await readRefusal(ask(crypto.randomUUID()))).toBe('lease-held');
    await endEngine(engine);
    expect((await ask(holder)).epoch).toBe(2);
  });

  test('is not released by the end of another pod', async () => {
    const engine = await (await internalApi.addEngine()).acquire();
    await internalApi.operator.call('engine-ended', {
      instance_id: engine.instanceId,
      pod: 'pod-of-another-time',
    });
    await renew(engine);
  });

  test('passes on after a release, and fences the releaser', async () => {
    const engine = await (await internalApi.addEngine()).acquire();
    await engine.call('release', {});
    expect(await readRefusal(renew(engine))).toBe('fenced');
    expect(await readRefusal(engine.call('release', {}))).toBe('fenced');
    expect((await acquireAgain(engine)).lease.epoch).toBe(2);
  });

  test('passes on when it expires, but a late renewal before that keeps it', async () => {
    const engine = await (await internalApi.addEngine()).acquire();
    const runOut = () =>
      internalApi.world.database.instanceLease.update({
        where: { instanceId: engine.instanceId },
        data: { expiresAt: new Date(Date.now() - 1) },
      });
    await runOut();
    await renew(engine);
    expect(await readRefusal(acquireAgain(engine))).toBe('lease-held');
    await runOut();
    const next = await acquireAgain(engine);
    expect(next.lease.epoch).toBe(2);
    expect(await readRefusal(renew(engine))).toBe('fenced');
  });

  const since = new Date(Date.now() - 3_600_000);
  const intervals = async (instanceId: string) => {
    const rows = await internalApi.world.database.instanceState.findMany({
      where: { instanceId },
      orderBy: { since: 'asc' },
    });
    return rows.map(({ state, reason, since: at, endedAt }) => ({ state, reason, since: at, endedAt }));
  };
  const connectedEngine = async () => {
    const engine = await (
      await internalApi.addEngine({ state: 'connected', stateChangedAt: since })
    ).acquire();
    const data = { id: newUuid(), instanceId: engine.instanceId, state: 'connected', since };
    await internalApi.world.database.instanceState.create({ data });
    return engine;
  };

  test('that passes on ends the state of an unresponsive engine: connected until its last renewal, connecting since', async () => {
    const engine = await connectedEngine();
    const { instanceId } = engine;
    const lease = { renewedAt: new Date(Date.now() - 60_000), expiresAt: new Date(Date.now() - 15_000) };
    await internalApi.world.database.instanceLease.update({ where: { instanceId }, data: lease });
    const next = await acquireAgain(engine);
    expect(await intervals(instanceId)).toEqual([
      { state: 'connected', reason: null, since, endedAt: lease.renewedAt },
      { state: 'connecting', reason: 'engine_silent', since: lease.renewedAt, endedAt: null },
    ]);
    expect(next.terms!.instance.state).toBe('connecting');
  });

  test('that was released for an ended process ends the state at that time', async () => {
    const engine = await connectedEngine();
    const { instanceId } = engine;
    await endEngine(engine);
    const lease = await internalApi.world.database.instanceLease.findUniqueOrThrow({ where: { instanceId } });
    await acquireAgain(engine);
    expect(await intervals(instanceId)).toMatchObject([
      { state: 'connected', endedAt: lease.expiresAt },
      { state: 'connecting', reason: 'engine_silent', since: lease.expiresAt },
    ]);
  });

  test('returned again to its holder ends no state', async () => {
    const engine = await internalApi.addEngine({ state: 'connected', stateChangedAt: since });
    const holder = crypto.randomUUID();
    const ask = () => engine.client.call('acquire', { pod: engine.pod, version: 'test', holder });
    await ask();
    expect((await ask()).instance.state).toBe('connected');
  });

  test('goes to one of many concurrent callers', async () => {
    const engine = await internalApi.addEngine();
    const answers = await Promise.all(Array.from({ length: 20 }, () => readRefusal(acquireAgain(engine))));
    expect(answers.filter((answer) => answer === 'answered')).toHaveLength(1);
    expect(answers.filter((answer) => answer === 'lease-held')).toHaveLength(19);
  });

  test('with the same epoch and another holder is fenced', async () => {
    const engine = await (await internalApi.addEngine()).acquire();
    engine.lease = { ...engine.lease, holder: crypto.randomUUID() };
    expect(await readRefusal(renew(engine))).toBe('fenced');
  });

  test('of a deleted instance is neither granted nor renewed, but can be released', async () => {
    const engine = await (await internalApi.addEngine()).acquire();
    await internalApi.world.database.instance.update({
      where: { id: engine.instanceId },
      data: { deletedAt: new Date() },
    });
    expect(await readRefusal(renew(engine))).toBe('gone');
    await engine.call('release', {});
    expect(await readRefusal(acquireAgain(engine))).toBe('gone');
    const token = internalApi.operator.call('issue-token', { instance_id: engine.instanceId, pod: 'pod-9' });
    expect(await readRefusal(token)).toBe('gone');
    expect((await internalApi.operator.call('observe', { ids: [engine.instanceId] })).instances).toEqual([]);
  });
});

describe('a token', () => {
  test('acquires until a newer one has acquired; other replicas refuse it within 2 s', async () => {
    const old = await (await internalApi.addEngine()).acquire();
    let now = 0;
    const replica = await internalApi.addReplica({}, () => now);
    const elsewhere = new EngineClient({ baseUrl: replica, token: old.token, timeoutMs: 120_000 });
    const onReplica = new TestEngine(elsewhere, old.instanceId, old.pod, old.token);
    onReplica.lease = old.lease;
    await renew(onReplica);
    const newer = await internalApi.addPod(old.instanceId, 'pod-2');
    await renew(old);
    await endEngine(old);
    await newer.acquire();
    expect(await readRefusal(renew(old))).toBe('unauthorized');
    // Another replica may still cache the token, but the lease has another holder.
    expect(await readRefusal(renew(onReplica))).toBe('fenced');
    now += 2_000;
    expect(await readRefusal(renew(onReplica))).toBe('unauthorized');
    expect(await readRefusal(acquireAgain(old))).toBe('unauthorized');
    elsewhere.close();
  });

  test('older than that of the lease cannot acquire, even if it is not revoked', async () => {
    const old = await internalApi.addEngine();
    const newer = await (await internalApi.addPod(old.instanceId, 'pod-2')).acquire();
    await newer.call('release', {});
    await internalApi.world.database.engineToken.updateMany({
      where: { instanceId: old.instanceId },
      data: { revokedAt: null },
    });
    expect(await readRefusal(old.acquire())).toBe('unauthorized');
    expect((await acquireAgain(newer)).lease.epoch).toBe(2);
  });

  test('is bound to its pod', async () => {
    const engine = await internalApi.addEngine();
    const stranger = new TestEngine(engine.client, engine.instanceId, 'pod-2', engine.token);
    expect(await readRefusal(stranger.acquire())).toBe('unauthorized');
  });

  test('of the operator is refused on engine routes, and that of an engine on operator routes', async () => {
    const engine = await (await internalApi.addEngine()).acquire();
    const operatorAsEngine = internalApi.clientWith(OPERATOR_TOKEN);
    const { epoch, holder } = engine.lease;
    expect(await readRefusal(operatorAsEngine.call('renew', { epoch, holder, connected: true }))).toBe(
      'unauthorized',
    );
    for (const route of ['project', 'remove', 'issue-token', 'engine-ended', 'observe']) {
      const response = await fetch(new URL(`operator/${route}`, internalApi.url), {
        method: 'POST',
        headers: { authorization: `Bearer ${engine.token}` },
        body: '{}',
      });
      expect([route, response.status, await response.json()]).toEqual([
        route,
        401,
        { error: 'unauthorized' },
      ]);
    }
  });

  test('is stored as a digest only', async () => {
    const engine = await internalApi.addEngine();
    const rows = await internalApi.world.database.engineToken.findMany({
      where: { instanceId: engine.instanceId },
    });
    const digest = await crypto.subtle.digest('SHA-256', Buffer.from(engine.token));
    expect(rows.map(({ hash }) => Buffer.from(hash))).toEqual([Buffer.from(digest)]);
    expect(JSON.stringify(rows)).not.toContain(engine.token);
  });
});
