import { randomFrom } from '../support/operator/fake-internal-api.js';
import type { RunningOperator } from '@gwk/operator/options';
import { NO_API_FAULTS, type ApiFaults } from './faulty-api.js';
import { OperatorStage, SHORT_LEASE_MS } from './operator-stage.js';
import { overlaps, FakeEngine } from './fake-engine.js';
import type { FakeNode } from './fake-node.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { pause, until } from '../support/wait.js';

/**
 * Checks that no instance ever has two engines on Kubernetes, whatever fails. Calls of the operator to the API server
 * fail before or after they took effect, are late, or conflict. Watches are cut and lag, so that the operator decides
 * on stale data. Two operators lead in turns. Nodes are lost and return, pods are force-deleted, and the internal API
 * fails as well.
 * The test compares the times at which engines held their lease. The API server guarantees that a pod name exists
 * once.
 */
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 1e9));
const random = randomFrom(seed);
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)]!;

const NAMES = ['a', 'b', 'c', 'd'];
/** Minimum number of actions; more are done until SERVED engines have held a lease. */
const MIN_ACTIONS = Number(process.env['ACTIONS'] ?? 150);
const SERVED = 12;

/** Short, so that under faults one operator loses the lease and the other takes it. */
const SHORT_LEADER_TIMES = { leaseMs: 2_000, deadlineMs: 1_300, retryMs: 200 };

const API_FAULT_LEVELS: ApiFaults[] = [
  NO_API_FAULTS,
  { before: 0.1, after: 0.1, late: 0.2, conflict: 0.1, lag: 0.2, cut: 0.02 },
  { before: 0.05, after: 0.3, late: 0.3, conflict: 0.05, lag: 0.6, cut: 0.05 },
  { before: 0.3, after: 0.2, late: 0.2, conflict: 0.2, lag: 0.3, cut: 0.1 },
];
const INTERNAL_API_FAULT_LEVELS = [
  { before: 0, after: 0, late: 0, stale: 0 },
  { before: 0.1, after: 0.15, late: 0.1, stale: 0.2 },
  { before: 0.3, after: 0.3, late: 0.1, stale: 0.4 },
];

describeOnKubernetes('at most one engine for an instance', (cluster) => {
  let stage: OperatorStage;
  let nodes: FakeNode[];
  let operators: RunningOperator[] = [];

  beforeAll(async () => {
    FakeEngine.history.length = 0;
    stage = await OperatorStage.make(cluster(), seed);
    stage.internalApi.leaseMs = SHORT_LEASE_MS;
    nodes = [await stage.node(`one-${stage.namespace}`), await stage.node(`two-${stage.namespace}`)];
  });
  afterAll(() => stage.stop());

  const settled = (work: Promise<unknown>): Promise<void> =>
    work.then(
      () => undefined,
      () => undefined,
    );
  const image = () => pick(['engine:1', 'engine:2']);

  async function startOperator(): Promise<void> {
    operators.push(
      await stage.operator({
        profiles: { default: { image: image() } },
        options: { leaderTimes: SHORT_LEADER_TIMES },
      }),
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
    node.condition = 'unresponsive';
    if (random() < 0.5) for (const engine of node.engines.values()) engine.kill();
    await node.setReady('Unknown');
    await pause(random() * 4000);
    await node.setReady('True');
    node.condition = 'healthy';
  }

  async function deletePod(force: boolean): Promise<void> {
    const path = `/api/v1/namespaces/${stage.namespace}/pods/gwk-${pick(NAMES)}`;
    await stage.cluster.delete(path, force ? { gracePeriodSeconds: 0 } : undefined);
  }

  async function crash(): Promise<void> {
    const pods = (await stage.pods()).filter(({ spec }) => spec.nodeName !== undefined);
    const pod = pods.length > 0 ? pick(pods) : null;
    const node = nodes.find(({ name }) => name === pod?.spec.nodeName);
    if (pod && node?.condition === 'healthy') await node.crash(pod);
  }

  let losing: Promise<void> = Promise.resolve();
  const ACTIONS: [weight: number, action: () => Promise<void> | void][] = [
    [20, () => settled(stage.create(pick(NAMES), {}))],
    [6, () => settled(stage.change(pick(NAMES), { suspended: random() < 0.5 }))],
    [6, () => settled(stage.change(pick(NAMES), { logLevel: pick(['debug', 'info']) }))],
    [6, () => settled(stage.delete(pick(NAMES)))],
    [8, () => settled(crash())],
    [4, () => settled(deletePod(false))],
    [2, () => settled(deletePod(true))],
    [3, () => void (losing = losing.then(() => settled(loseNode())))],
    [3, changeOperator],
    [4, () => stage.kubernetesApi.resetWatches()],
    [5, () => void (stage.kubernetesApi.faults = pick(API_FAULT_LEVELS))],
    [4, () => void (stage.internalApi.faults = pick(INTERNAL_API_FAULT_LEVELS))],
  ];

  async function runRandomAction(): Promise<void> {
    let dice = random() * ACTIONS.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, action] of ACTIONS) if ((dice -= weight) < 0) return action();
  }

  test(`holds under any fault (SEED=${seed})`, async () => {
    await startOperator();
    for (let actions = 0; actions < MIN_ACTIONS || FakeEngine.history.length < SERVED; actions++) {
      await runRandomAction();
      await pause(random() * 150);
      expect(overlaps(FakeEngine.history)).toEqual([]);
    }

    await losing;
    stage.kubernetesApi.faults = NO_API_FAULTS;
    stage.internalApi.faults = INTERNAL_API_FAULT_LEVELS[0]!;
    // Operators that lost the leader lease would exit as processes. Here they continue, each with its own profile.
    for (const operator of operators.splice(0)) await stage.end(operator);
    await startOperator();
    for (const name of NAMES) {
      await until(
        async () => {
          const made = await stage.create(name, { suspended: name === 'a', logLevel: 'info' });
          return made.metadata.deletionTimestamp === undefined;
        },
        { what: `${name} exists for good` },
      );
    }
    for (const name of NAMES.slice(1)) await stage.untilIs(name, 'Ready', 'True');
    await stage.untilIs('a', 'EngineRunning', 'False/Suspended');
    const serving = () => FakeEngine.history.filter(({ open }) => open).length;
    await until(() => serving() === NAMES.length - 1, { what: 'all but the suspended one serve' });

    for (const name of NAMES) await stage.delete(name);
    for (const name of NAMES) await stage.untilGone(name);
    await until(async () => (await stage.pods()).length === 0, { what: 'no pod is left' });
    expect(serving()).toBe(0);
    expect(overlaps(FakeEngine.history)).toEqual([]);
    expect(FakeEngine.history.length).toBeGreaterThanOrEqual(SERVED);
  });
});
