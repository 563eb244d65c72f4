import { randomFrom } from '../support/operator/fake-internal-api.js';
import type { RunningOperator } from '@gwk/operator/options';
import { NO_API_FAULTS, type ApiFaults } from './faulty-api.js';
import { OperatorStage, SHORT_LEASE_MS } from './operator-stage.js';
import { overlaps, FakeEngine } from './fake-engine.js';
import type { FakeNode } from './fake-node.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { pause, until } from '../support/wait.js';

/**
 * Never two engines for one number on Kubernetes, whatever fails: every call of the operator to the API server may
 * fail before or after it took effect, come late, or meet a conflict; watches are cut and lag behind, so that the
 * operator decides by what is not so any more; two operators lead in turns; nodes are lost and come back; pods are
 * deleted by force; the internal port fails as well. What is judged is when engines served their numbers, and that
 * no name of a pod was given twice at a time, which is the API server's to see to.
 */
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));
const random = randomFrom(seed);
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;

const NAMES = ['a', 'b', 'c', 'd'];
/** So much is done at least, and until so many engines have served. */
const DEEDS_AT_LEAST = Number(process.env['DEEDS'] ?? 150);
const SERVED = 12;

/** So that in bad weather it is lost, and taken by the other. */
const HASTY = { leaseMs: 2_000, deadlineMs: 1_300, retryMs: 200 };

const API_WEATHER: ApiFaults[] = [
  NO_API_FAULTS,
  { before: 0.1, after: 0.1, late: 0.2, conflict: 0.1, lag: 0.2, cut: 0.02 },
  { before: 0.05, after: 0.3, late: 0.3, conflict: 0.05, lag: 0.6, cut: 0.05 },
  { before: 0.3, after: 0.2, late: 0.2, conflict: 0.2, lag: 0.3, cut: 0.1 },
];
const PORT_WEATHER = [
  { before: 0, after: 0, late: 0, stale: 0 },
  { before: 0.1, after: 0.15, late: 0.1, stale: 0.2 },
  { before: 0.3, after: 0.3, late: 0.1, stale: 0.4 },
];

describeOnKubernetes('at most one engine for a number', (cluster) => {
  let stage: OperatorStage;
  let nodes: FakeNode[];
  let operators: RunningOperator[] = [];

  beforeAll(async () => {
    FakeEngine.history.length = 0;
    stage = await OperatorStage.make(cluster(), seed);
    stage.port.leaseMs = SHORT_LEASE_MS;
    nodes = [await stage.node(`one-${stage.namespace}`), await stage.node(`two-${stage.namespace}`)];
  });
  afterAll(() => stage.strike());

  const settled = (work: Promise<unknown>): Promise<void> =>
    work.then(
      () => undefined,
      () => undefined,
    );
  const image = () => pick(['engine:1', 'engine:2']);

  async function startOperator(): Promise<void> {
    operators.push(
      await stage.operator({ profiles: { default: { image: image() } }, options: { leaderTimes: HASTY } }),
    );
  }

  async function changeOperator(): Promise<void> {
    const [oldest] = operators;
    if (oldest && operators.length > 1) {
      operators = operators.slice(1);
      await stage.end(oldest);
    }
    await startOperator();
  }

  async function loseNode(): Promise<void> {
    const node = pick(nodes);
    node.mood = 'silent';
    if (random() < 0.5) for (const holder of node.holders.values()) holder.kill();
    await node.say('Unknown');
    await pause(random() * 4000);
    await node.say('True');
    node.mood = 'well';
  }

  async function deletePod(force: boolean): Promise<void> {
    const path = `/api/v1/namespaces/${stage.namespace}/pods/gwk-${pick(NAMES)}`;
    await stage.cluster.delete(path, force ? { gracePeriodSeconds: 0 } : undefined);
  }

  async function crash(): Promise<void> {
    const pods = (await stage.pods()).filter(({ spec }) => spec.nodeName !== undefined);
    const pod = pods.length > 0 ? pick(pods) : null;
    const node = nodes.find(({ name }) => name === pod?.spec.nodeName);
    if (pod && node?.mood === 'well') await node.crash(pod);
  }

  let losing: Promise<void> = Promise.resolve();
  const DEEDS: [weight: number, deed: () => Promise<void> | void][] = [
    [20, () => settled(stage.create(pick(NAMES), {}))],
    [6, () => settled(stage.change(pick(NAMES), { suspended: random() < 0.5 }))],
    [6, () => settled(stage.change(pick(NAMES), { logLevel: pick(['debug', 'info']) }))],
    [6, () => settled(stage.delete(pick(NAMES)))],
    [8, () => settled(crash())],
    [4, () => settled(deletePod(false))],
    [2, () => settled(deletePod(true))],
    [3, () => void (losing = losing.then(() => settled(loseNode())))],
    [3, changeOperator],
    [4, () => stage.api.resetWatches()],
    [5, () => void (stage.api.faults = pick(API_WEATHER))],
    [4, () => void (stage.port.faults = pick(PORT_WEATHER))],
  ];

  async function doSomething(): Promise<void> {
    let dice = random() * DEEDS.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, deed] of DEEDS) if ((dice -= weight) < 0) return deed();
  }

  test(`whatever fails (SEED=${seed})`, async () => {
    await startOperator();
    for (let deeds = 0; deeds < DEEDS_AT_LEAST || FakeEngine.history.length < SERVED; deeds++) {
      await doSomething();
      await pause(random() * 150);
      expect(overlaps(FakeEngine.history)).toEqual([]);
    }

    await losing;
    stage.api.faults = NO_API_FAULTS;
    stage.port.faults = PORT_WEATHER[0]!;
    // Those that have lost their lease would have ended as processes; here they go on, each with a profile of its own.
    for (const operator of operators.splice(0)) await stage.end(operator);
    await startOperator();
    for (const name of NAMES) {
      await until(
        async () => {
          const made = await stage.create(name, { suspended: name === 'a', logLevel: 'info' });
          return made.metadata.deletionTimestamp === undefined;
        },
        { what: `${name} is there for good` },
      );
    }
    for (const name of NAMES.slice(1)) await stage.untilIs(name, 'Ready', 'True');
    await stage.untilIs('a', 'EngineRunning', 'False/Suspended');
    const serving = () => FakeEngine.history.filter(({ to }) => to === Infinity).length;
    await until(() => serving() === NAMES.length - 1, { what: 'all but the suspended one serve' });

    for (const name of NAMES) await stage.delete(name);
    for (const name of NAMES) await stage.untilGone(name);
    await until(async () => (await stage.pods()).length === 0, { what: 'no pod is left' });
    expect(serving()).toBe(0);
    expect(overlaps(FakeEngine.history)).toEqual([]);
    expect(FakeEngine.history.length).toBeGreaterThanOrEqual(SERVED);
  });
});
