import { METRICS } from '@gwk/core/metrics/page';
import { Exposition } from '../support/exposition.js';
import { OperatorStage, SHORT_LEASE_MS } from './operator-stage.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import type { RawEnginePod } from './fake-node.js';
import { overlaps, FakeEngine } from './fake-engine.js';
import { pause, realTime, until } from '../support/wait.js';

/** What goes wrong around engines, and how an upgrade goes through them. */
describeOnKubernetes('the operator in trouble', (cluster) => {
  let stage: OperatorStage;
  beforeEach(async () => {
    FakeEngine.history.length = 0;
    stage = await OperatorStage.make(cluster());
  });
  afterEach(async () => {
    await stage.strike();
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

  test('a node that is lost with its engine: Unknown, then elsewhere, once the lease has ended', async () => {
    stage.port.leaseMs = SHORT_LEASE_MS;
    const lost = await stage.node(`lost-${stage.namespace}`);
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const before = (await stage.pod('shop'))!;
    lost.mood = 'silent';
    await stage.node(`spare-${stage.namespace}`);
    for (const holder of lost.holders.values()) holder.kill();
    await lost.say('Unknown');

    await stage.untilIs('shop', 'Ready', 'Unknown/NodeUnreachable');
    const after = await other('shop', before);
    expect(after.metadata.name).toBe('gwk-shop');
    await stage.untilIs('shop', 'Ready', 'True');
    expect((await stage.pod('shop'))!.spec.nodeName).toBe(`spare-${stage.namespace}`);
  });

  test('a node whose kubelet alone is lost: its engine serves on, and none is started elsewhere', async () => {
    stage.port.leaseMs = SHORT_LEASE_MS;
    const lost = await stage.node(`lost-${stage.namespace}`);
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const before = (await stage.pod('shop'))!;
    lost.mood = 'silent';
    await stage.node(`spare-${stage.namespace}`);
    await lost.say('Unknown');
    await stage.untilIs('shop', 'Ready', 'Unknown/NodeUnreachable');
    // Longer than a lease and its margin.
    await pause(realTime(5_000));
    expect((await stage.pod('shop'))!.metadata.uid).toBe(before.metadata.uid);
    expect(FakeEngine.history.filter(({ to }) => to === Infinity)).toHaveLength(1);
    await lost.say('True');
    lost.mood = 'well';
    await stage.untilIs('shop', 'Ready', 'True');
  });

  test('a deletion is not held up by a lost node whose engine serves on: its row goes, and so it ends', async () => {
    stage.port.leaseMs = SHORT_LEASE_MS;
    const lost = await stage.node(`lost-${stage.namespace}`);
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    lost.mood = 'silent';
    await lost.say('Unknown');
    await stage.untilIs('shop', 'Ready', 'Unknown/NodeUnreachable');
    await stage.delete('shop');
    for (const holder of lost.holders.values()) holder.kill();
    await stage.untilGone('shop');
  });

  test('an engine that does not end keeps its resource for a documented time only', async () => {
    stage.port.leaseMs = SHORT_LEASE_MS;
    const node = await stage.node();
    await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    node.mood = 'silent';
    await stage.delete('shop');
    await until(async () => (await stage.pod('shop'))?.metadata.deletionTimestamp !== undefined, {
      what: 'it is asked to end',
    });
    for (const holder of node.holders.values()) holder.kill();
    await stage.untilGone('shop');
    expect((await stage.pod('shop'))?.metadata.deletionTimestamp).toBeDefined();
  });

  test('an engine that hangs without its lease is replaced', async () => {
    await stage.node(undefined, { 'engine:1': 'hangs' });
    await stage.operator();
    await stage.create('shop');
    const before = await until(() => stage.pod('shop'), { what: 'it has a pod' });
    await other('shop', before);
  });

  test('an upgrade goes through engines one at a time, each connected before the next', async () => {
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
          servingAt(Infinity) === 3
        );
      },
      { what: 'all are of the new version' },
    );
    const ends = FakeEngine.history.map(({ to }) => to).filter((to) => to !== Infinity);
    expect(ends.map(servingAt)).toEqual([2, 2, 2]);
    for (const name of names) await stage.untilIs(name, 'Ready', 'True');
    expect((await stage.instance('a'))!.status!.engine!.version).toBe('2');
  });

  test('a version that does not work takes one number off the air and no more, and mending it goes on', async () => {
    await stage.node(undefined, { 'engine:bad': 'missing' });
    const former = await stage.operator({ profiles: { default: { image: 'engine:1' } } });
    const names = ['a', 'b', 'c'];
    for (const name of names) await stage.create(name);
    for (const name of names) await stage.untilIs(name, 'Ready', 'True');
    await stage.end(former);

    const bad = await stage.operator({ profiles: { default: { image: 'engine:bad' } } });
    const hurt = async () => {
      const states = await Promise.all(names.map((name) => stage.condition(name, 'EngineRunning')));
      return states.filter((state) => state?.reason === 'ImagePullFailed').length;
    };
    await until(async () => (await hurt()) === 1, { what: 'one is off the air' });
    await pause(3000);
    expect(await hurt()).toBe(1);
    await stage.end(bad);

    await stage.operator({ profiles: { default: { image: 'engine:1' } } });
    for (const name of names) await stage.untilIs(name, 'Ready', 'True');
  });

  test('of two operators one leads; when it goes the other takes over, and no engine notices', async () => {
    await stage.node();
    const first = await stage.operator();
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const before = (await stage.pod('shop'))!;
    const next = await stage.operator();
    await told(first, { leads: 1, watches: true });
    // Nobody asks the API for one that waits: it is not behind.
    await told(next, { leads: 0, watches: false });
    await stage.end(first);
    await stage.create('second');
    await stage.untilIs('second', 'Ready', 'True');
    expect((await stage.pod('shop'))!.metadata.uid).toBe(before.metadata.uid);
    await told(next, { leads: 1, watches: true });
  });

  test('an operator that leads and is cut off gives up before another one may lead', async () => {
    await stage.node();
    let lostAt = 0;
    const cut = await stage.operator({ options: { ...LEADING, lost: () => void (lostAt = Date.now()) } });
    await stage.create('shop');
    await stage.untilIs('shop', 'Ready', 'True');
    const cutAt = Date.now();
    stage.api.instead = ({ path }) => (path.includes('/leases') ? { code: 503, body: 'busy' } : undefined);
    await until(() => lostAt > 0, { what: 'it gives up' });
    expect(lostAt - cutAt).toBeLessThan(LEADING.leaderTimes.leaseMs);
    stage.api.instead = () => undefined;
    await stage.end(cut);
  });
});

/** What alerts ask of each operator, whether it leads or waits; it exports what the catalogue says, and no more. */
async function told({ port }: { port: number }, { leads, watches }: { leads: number; watches: boolean }) {
  const seen = await Exposition.of(port);
  expect(seen.value('gwk_operator_leader')).toBe(leads);
  expect(seen.value('gwk_operator_api_unresponsive_seconds')).toBeLessThan(leads ? 60 : 0.001);
  expect(seen.value('gwk_operator_watch_age_seconds')! > 0).toBe(watches);
  const described = [...METRICS['`gwk operator`']!, ...METRICS['`gwk operator` on Kubernetes']!];
  const exported = [...seen.types].filter(([metric]) => metric.startsWith('gwk_'));
  expect(new Map(exported)).toEqual(new Map(described.map((metric) => [metric.name, metric.type])));
}

/** How many engines served then, of all that there were; an end is no more a time of serving. */
const servingAt = (time: number): number =>
  FakeEngine.history.filter(({ from, to }) => from <= time && (time < to || to === Infinity)).length;

/** So far apart that a busy machine, which is late with the one, does not come to the other. */
const LEADING = { leaderTimes: { leaseMs: realTime(8_000), deadlineMs: realTime(3_000), retryMs: 200 } };
