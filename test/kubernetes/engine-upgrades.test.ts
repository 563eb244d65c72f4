import { objectPath, type KubeObject } from '../support/kubernetes/test-cluster.js';
import { describeOnKubernetes } from '../support/kubernetes/suite.js';
import { until } from '../support/wait.js';
import type { KubernetesOptions } from '@gwk/operator/program-kubernetes';
import type { RawEnginePod } from './fake-node.js';
import { overlaps, FakeEngine } from './fake-engine.js';
import { OperatorStage, SHORT_LEASE_MS } from './operator-stage.js';

const NAMES = ['a', 'b', 'c'];

/** By resource. */
type Amounts = Record<string, string>;

/** As the namespaces of the tests admit it, and without resources. */
const BARE_POD = {
  metadata: { generateName: 'bare-' },
  spec: {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'a',
        image: 'a',
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
      },
    ],
  },
};

/** Upgrades of engines that cannot finish. */
describeOnKubernetes('an upgrade of engines', (cluster) => {
  let stage: OperatorStage;
  beforeEach(async () => {
    FakeEngine.history.length = 0;
    stage = await OperatorStage.make(cluster());
  });
  afterEach(async () => {
    await stage.stop();
    expect(overlaps(FakeEngine.history)).toEqual([]);
  });

  const listOn = async (image: string): Promise<RawEnginePod[]> =>
    (await stage.pods()).filter(({ spec }) => spec.containers[0]!.image === image);
  const untilAllOn = (image: string) =>
    until(async () => (await listOn(image)).length === NAMES.length, { what: `all run ${image}` });

  /** Starts the engines of version 1. */
  async function startFormer(): Promise<void> {
    const former = await stage.operator({ profiles: { default: { image: 'engine:1' } } });
    for (const name of NAMES) await stage.create(name);
    for (const name of NAMES) await stage.untilIs(name, 'Ready', 'True');
    await stage.end(former);
  }
  const startUpgrade = (image: string, options?: KubernetesOptions) =>
    stage.operator({ profiles: { default: { image } }, ...(options && { options }) });

  /** With the status that the controller of quotas would write. */
  async function setQuota(hard: Amounts, used: Amounts): Promise<KubeObject> {
    const metadata = { name: 'all', namespace: stage.namespace };
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata, spec: { hard } };
    await cluster().applied(quota);
    const status = { hard, used };
    await cluster().merge(`${objectPath(quota)}/status`, { status });
    return quota;
  }

  async function untilBarePod(status: 201 | 403): Promise<void> {
    const path = `/api/v1/namespaces/${stage.namespace}/pods?dryRun=All`;
    await until(async () => (await cluster().post(path, BARE_POD)).status === status, {
      what: `a pod without resources is answered ${status}`,
    });
  }

  test('replaces one engine only if its image is missing and all leases lapse', async () => {
    stage.internalApi.leaseMs = SHORT_LEASE_MS;
    await stage.node(undefined, { 'engine:bad': 'missing' });
    await startFormer();
    // No stall of the machine makes an engine look unresponsive.
    await startUpgrade('engine:bad', { leaseTimeoutMs: 120_000 });
    const offline = async (name: string) =>
      (await stage.condition(name, 'EngineRunning'))?.reason === 'ImagePullFailed';
    const failed = await until(
      async () => {
        const states = await Promise.all(NAMES.map(offline));
        return states.some(Boolean) && NAMES.filter((_, index) => states[index]);
      },
      { what: 'one is offline' },
    );
    expect(failed).toHaveLength(1);
    const kept = await listOn('engine:1');
    expect(kept).toHaveLength(2);

    stage.internalApi.isAway = true;
    await until(() => FakeEngine.history.every(({ open }) => !open), { what: 'no engine serves' });
    stage.internalApi.isAway = false;
    const others = NAMES.filter((name) => !failed.includes(name));
    for (const name of others) {
      await until(
        async () => {
          const { metadata } = (await stage.pod(name))!;
          const id = metadata.labels['gwk.dev/instance-id'];
          return FakeEngine.history.some(({ open, instance }) => open && instance === id);
        },
        { what: `${name} is served again` },
      );
      await stage.untilIs(name, 'Ready', 'True');
      await stage.untilIs(name, 'UpToDate', 'False/WaitingForTurn');
    }
    const uids = (pods: RawEnginePod[]) => pods.map(({ metadata }) => metadata.uid).sort();
    expect(uids(await listOn('engine:1'))).toEqual(uids(kept));
  });

  test('stops no engine whose new pod the cluster refuses, and continues when it accepts it', async () => {
    await stage.node();
    await startFormer();
    const quota = await setQuota({ 'limits.cpu': '100' }, { 'limits.cpu': '0' });
    await untilBarePod(403);
    await startUpgrade('engine:2');
    const refused = await until(
      async () => {
        const found = await Promise.all(NAMES.map((name) => stage.condition(name, 'UpToDate')));
        return found.find((condition) => condition?.reason === 'UpgradeRefused');
      },
      { what: 'a refusal is shown' },
    );
    expect(refused.message).toContain('must specify limits.cpu');
    expect(await listOn('engine:1')).toHaveLength(NAMES.length);
    for (const name of NAMES) await stage.untilIs(name, 'Ready', 'True');

    await cluster().delete(objectPath(quota));
    await untilBarePod(201);
    await untilAllOn('engine:2');
    for (const name of NAMES) await stage.untilIs(name, 'UpToDate', 'True');
  });

  test('continues although the quota has room for the present engines only', async () => {
    await stage.node();
    await startFormer();
    await setQuota({ pods: '3' }, { pods: '3' });
    await untilBarePod(403);
    await startUpgrade('engine:2');
    // The controller of quotas is absent, so the pod that ends frees its place here.
    await until(
      async () => {
        const present = (await stage.pods()).length;
        if (present < NAMES.length) await setQuota({ pods: '3' }, { pods: String(present) });
        return (await listOn('engine:2')).length === NAMES.length;
      },
      { what: 'all run engine:2' },
    );
  });

  test('stops no engine whose new pod needs more than a full quota', async () => {
    const withLimit = (image: string, cpu: string) => ({
      profiles: { default: { image, resources: { limits: { cpu } } } },
    });
    await stage.node();
    const former = await stage.operator(withLimit('engine:1', '100m'));
    for (const name of NAMES) await stage.create(name);
    for (const name of NAMES) await stage.untilIs(name, 'Ready', 'True');
    await stage.end(former);
    await setQuota({ 'limits.cpu': '300m' }, { 'limits.cpu': '300m' });
    await untilBarePod(403);
    await stage.operator(withLimit('engine:2', '101m'));
    const refused = await until(
      async () => {
        const found = await Promise.all(NAMES.map((name) => stage.condition(name, 'UpToDate')));
        return found.find((condition) => condition?.reason === 'UpgradeRefused');
      },
      { what: 'a refusal is shown' },
    );
    expect(refused.message).toContain('exceeded quota');
    expect(await listOn('engine:1')).toHaveLength(NAMES.length);
  });

  test('shows the refusal of a first engine in its condition', async () => {
    await stage.node();
    await setQuota({ 'limits.cpu': '100' }, { 'limits.cpu': '0' });
    await untilBarePod(403);
    await stage.operator({ profiles: { default: { image: 'engine:1' } } });
    await stage.create('a');
    const { message } = await stage.untilIs('a', 'EngineRunning', 'False/EngineNotCreated');
    expect(message).toContain('must specify limits.cpu');
  });
});
