import { METRICS } from '@gwk/core/metrics/metrics';
import { Exposition } from '../support/exposition.js';
import { OperatorStage, SHORT_LEASE_MS } from './operator-stage.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import type { RawEnginePod } from './fake-node.js';
import { overlaps, FakeEngine } from './fake-engine.js';
import { pause, realTime, until } from '../support/wait.js';

/** Failures around engines, and upgrades. */
describeOnKubernetes('failures of the operator', (cluster) => {
  let stage: OperatorStage;
  beforeEach(async () => {
    FakeEngine.history.length = 0;
    stage = await OperatorStage.make(cluster());
  });
  afterEach(async () => {
    await stage.stop();
    expect(overlaps(FakeEngine.history)).toEqual([]);
  });

  const other = (name: string, before: RawEnginePod) =>
    until(
      async () => {
        const pod = await stage.pod(name);
        return pod && pod.metadata.uid !== before.metadata.uid && pod;
      },
      { what: `${name} has another pod` },
    );

  test('moves the engine of a lost node once its lease has ended', async () => {
    stage.internalApi.leaseMs = SHORT_LEASE_MS;
    const lost = await stage.node(`lost-${stage.namespace}`);
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const before = (await stage.pod('shop'))!;
    lost.condition = 'unresponsive';
    await stage.node(`spare-${stage.namespace}`);
    for (const engine of lost.engines.values()) engine.kill();
    await lost.setReady('Unknown');

    await stage.untilIs('shop', 'Ready', 'Unknown/NodeUnreachable');
    const after = await other('shop', before);
    expect(after.metadata.name).toBe('gwk-shop');
    await stage.untilIs('shop', 'Ready', 'True');
    expect((await stage.pod('shop'))!.spec.nodeName).toBe(`spare-${stage.namespace}`);
  });

  test('starts no other engine while the engine on an unreachable node serves', async () => {
    stage.internalApi.leaseMs = SHORT_LEASE_MS;
    const lost = await stage.node(`lost-${stage.namespace}`);
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const before = (await stage.pod('shop'))!;
    lost.condition = 'unresponsive';
    await stage.node(`spare-${stage.namespace}`);
    await lost.setReady('Unknown');
    await stage.untilIs('shop', 'Ready', 'Unknown/NodeUnreachable');
    // Longer than a lease and its margin.
    await pause(realTime(5_000));
    expect((await stage.pod('shop'))!.metadata.uid).toBe(before.metadata.uid);
    expect(FakeEngine.history.filter(({ open }) => open)).toHaveLength(1);
    await lost.setReady('True');
    lost.condition = 'healthy';
    await stage.untilIs('shop', 'Ready', 'True');
  });

  test('deletes an instance on a lost node', async () => {
    stage.internalApi.leaseMs = SHORT_LEASE_MS;
    const lost = await stage.node(`lost-${stage.namespace}`);
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    lost.condition = 'unresponsive';
    await lost.setReady('Unknown');
    await stage.untilIs('shop', 'Ready', 'Unknown/NodeUnreachable');
    await stage.delete('shop');
    for (const engine of lost.engines.values()) engine.kill();
    await stage.untilGone('shop');
  });

  test('limits how long an engine that does not end blocks a deletion', async () => {
    stage.internalApi.leaseMs = SHORT_LEASE_MS;
    const node = await stage.node();
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    node.condition = 'unresponsive';
    await stage.delete('shop');
    await until(async () => (await stage.pod('shop'))?.metadata.deletionTimestamp !== undefined, {
      what: 'it is asked to end',
    });
    for (const engine of node.engines.values()) engine.kill();
    await stage.untilGone('shop');
    expect((await stage.pod('shop'))?.metadata.deletionTimestamp).toBeDefined();
  });

  test('replaces a pod whose Secret could not be written', async () => {
    await stage.node();
    let refusals = 0;
    stage.kubernetesApi.instead = ({ method, path }) =>
      method === 'POST' && path.endsWith('/secrets') && refusals++ === 0
        ? { code: 500, body: JSON.stringify({ message: 'no storage' }) }
        : undefined;
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    expect(refusals).toBe(2);
    expect((await stage.events('shop')).map(({ message }) => message)).toContain(
      'Pod not created: 500 Unknown: no storage',
    );
  });

  test('replaces a pod whose operator ended before it had written the Secret, and no other', async () => {
    const first = await stage.operator();
    for (const name of ['shop', 'other']) {
      await stage.create(name);
      await until(() => stage.pod(name), { what: `${name} has a pod` });
      await stage.untilIs(name, 'Ready', 'False/EngineStarting');
    }
    await stage.end(first);
    const [shop, other] = [(await stage.pod('shop'))!, (await stage.pod('other'))!];
    const { secretName } = shop.spec.volumes.find(({ secret }) => secret)!.secret!;
    await cluster().delete(`/api/v1/namespaces/${stage.namespace}/secrets/${secretName}`);
    await stage.operator();
    await until(
      async () => ![undefined, shop.metadata.uid].includes((await stage.pod('shop'))?.metadata.uid),
      { what: 'shop has another pod' },
    );
    await stage.node();
    for (const name of ['shop', 'other']) await stage.untilIs(name, 'Ready', 'True');
    expect((await stage.pod('other'))!.metadata.uid).toBe(other.metadata.uid);
  });

  test('replaces an engine that hangs without its lease', async () => {
    await stage.node(undefined, { 'engine:1': 'hangs' });
    await stage.operator();
    await stage.create('shop');
    const before = await until(() => stage.pod('shop'), { what: 'it has a pod' });
    await other('shop', before);
  });

  test('upgrades engines one at a time, each connected before the next', async () => {
    await stage.node();
    const former = await stage.operator({ profiles: { default: { image: 'engine:1' } } });
    const names = ['a', 'b', 'c'];
    for (const name of names) await stage.create(name);
    for (const name of names) await stage.untilIs(name, 'Ready', 'True');
    await stage.end(former);

    await stage.operator({ profiles: { default: { image: 'engine:2' } } });
    await until(
      async () => {
        const pods = await stage.pods();
        return (
          pods.length === 3 &&
          pods.every(({ spec }) => spec.containers[0]!.image === 'engine:2') &&
          FakeEngine.history.filter(({ open }) => open).length === 3
        );
      },
      { what: 'all are of the new version' },
    );
    const ends = FakeEngine.history.filter(({ open }) => !open).map(({ to }) => to);
    expect(ends.map(servingAt)).toEqual([2, 2, 2]);
    for (const name of names) await stage.untilIs(name, 'Ready', 'True');
    expect((await stage.instance('a'))!.status!.engine!.version).toBe('2');
  });

  test('pauses an upgrade to a broken version after one engine, and resumes once it is fixed', async () => {
    await stage.node(undefined, { 'engine:bad': 'missing' });
    const former = await stage.operator({ profiles: { default: { image: 'engine:1' } } });
    const names = ['a', 'b', 'c'];
    for (const name of names) await stage.create(name);
    for (const name of names) await stage.untilIs(name, 'Ready', 'True');
    await stage.end(former);

    const bad = await stage.operator({ profiles: { default: { image: 'engine:bad' } } });
    const countFailed = async () => {
      const states = await Promise.all(names.map((name) => stage.condition(name, 'EngineRunning')));
      return states.filter((state) => state?.reason === 'ImagePullFailed').length;
    };
    await until(async () => (await countFailed()) === 1, { what: 'one is offline' });
    await pause(3000);
    expect(await countFailed()).toBe(1);
    await stage.end(bad);

    await stage.operator({ profiles: { default: { image: 'engine:1' } } });
    for (const name of names) await stage.untilIs(name, 'Ready', 'True');
  });

  test('shows Unknown while the API is away, by one write, and returns by itself', async () => {
    await stage.node();
    await stage.operator({ options: { outageMs: realTime(1_000) } });
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const pod = await stage.pod('shop');
    const countWrites = () =>
      stage.kubernetesApi.writes().filter(({ path }) => path.endsWith('/instances/shop/status')).length;
    const before = countWrites();
    stage.internalApi.isAway = true;
    await stage.untilIs('shop', 'Ready', 'Unknown/APIUnavailable');
    await pause(realTime(2_000));
    expect(countWrites() - before).toBe(1);
    stage.internalApi.isAway = false;
    await stage.untilIs('shop', 'Ready', 'True');
    expect((await stage.pod('shop'))!.metadata.uid).toBe(pod!.metadata.uid);
  });

  test('fails over to the second operator without touching engines', async () => {
    await stage.node();
    const first = await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const before = (await stage.pod('shop'))!;
    const next = await stage.operator();
    await expectMetrics(first, { leads: 1, watches: true });
    // A standby operator does not call the API, so it does not count as behind.
    await expectMetrics(next, { leads: 0, watches: false });
    await stage.end(first);
    await stage.create('second');
    await stage.untilIs('second', 'Ready', 'True');
    expect((await stage.pod('shop'))!.metadata.uid).toBe(before.metadata.uid);
    await expectMetrics(next, { leads: 1, watches: true });
  });

  test('gives up leadership without the API server before another can lead', async () => {
    await stage.node();
    let lostAt = 0;
    const cut = await stage.operator({ options: { ...LEADING, lost: () => void (lostAt = Date.now()) } });
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const cutAt = Date.now();
    stage.kubernetesApi.instead = ({ path }) =>
      path.includes('/leases') ? { code: 503, body: 'busy' } : undefined;
    await until(() => lostAt > 0, { what: 'it gives up' });
    expect(lostAt - cutAt).toBeLessThan(LEADING.leaderTimes.leaseMs);
    stage.kubernetesApi.instead = () => undefined;
    await stage.end(cut);
  });
});

/**
 * Checks the metrics that alerts use, on a leader or a standby operator, and that it exports exactly the documented
 * metrics.
 */
async function expectMetrics(
  { port }: { port: number },
  { leads, watches }: { leads: number; watches: boolean },
) {
  const seen = await Exposition.of(port);
  expect(seen.value('gwk_operator_leader')).toBe(leads);
  expect(seen.value('gwk_operator_api_unresponsive_seconds')).toBeLessThan(leads ? 60 : 0.001);
  expect(seen.value('gwk_operator_watch_age_seconds')! > 0).toBe(watches);
  const described = [...METRICS['`gwk operator`']!, ...METRICS['`gwk operator` on Kubernetes']!];
  const exported = [...seen.types].filter(([metric]) => metric.startsWith('gwk_'));
  expect(new Map(exported)).toEqual(new Map(described.map((metric) => [metric.name, metric.type])));
}

/** Number of engines that served at a time; an interval excludes its end. */
const servingAt = (time: number): number =>
  FakeEngine.history.filter(({ from, to, open }) => from <= time && (time < to || open)).length;

/** Far apart, so that a slow machine that misses one does not reach the other. */
const LEADING = { leaderTimes: { leaseMs: realTime(8_000), deadlineMs: realTime(3_000), retryMs: 200 } };
