import { until } from '../support/wait.js';
import type { Edition } from '../support/release.js';
import { ENGINE_NODE, MAIN_NODE, nameImage, NAMESPACE, type E2eStage, type PodSeen } from './stage.js';
import { typePages } from './documents/walk.js';
import { createUnpaired, rest } from './rest.js';
import { Traffic } from './traffic.js';
import {
  type Context,
  NAME,
  clock,
  install,
  createToReady,
  pairPhone,
  firstMessages,
  passProxy,
  reconnects,
  enginePod,
  moveTo,
} from './steps.js';

export type Scenario = [name: string, run: (context: Context) => Promise<string>];

const OUT = Number(process.env['E2E_OUT'] ?? 5);
const IN = Number(process.env['E2E_IN'] ?? 2);

/** It needs the former commit as the first edition. */
export const UPGRADE = 'upgrade from the former commit to this release';
/** It needs a signed release. */
export const REFUSALS = 'changed parts of the release are refused';

export const SCENARIOS: Scenario[] = [
  ['helm install --wait, with demo', install],
  ['a sandbox: created to Ready', createNumbers],
  ['gwk pair, with the credentials of kubectl', pairPhone],
  ['the first message is sent, and one is received', firstMessages],
  [UPGRADE, upgradeToRelease],
  ['files, webhooks and sign-ins pass the proxy', passProxy],
  ['programs and engines at rest use little processor time', rest],
  ['the pod of the engine is deleted', underTraffic(deleteEngine)],
  ['the leading operator is killed', underTraffic(killLeader)],
  ['the leading operator changes', underTraffic(changeLeader)],
  ['the API is scaled from 2 to 1, 3 and 1', underTraffic(scaleApi)],
  ['the pod of Redis is deleted', underTraffic(deleteRedis)],
  ['the node of the engine is drained', underTraffic(drainNode)],
  ['the kubelet of the engine stops, then starts again', underTraffic(stopKubelet)],
  ['the node of the engine loses its power', underTraffic(losePower)],
  [REFUSALS, ({ stage }) => stage.refuseChanges()],
  ['the commands of the pages for administrators are typed', typePages],
];

/** The unpaired number is at rest some scenarios later. */
async function createNumbers(context: Context): Promise<string> {
  const times = await createToReady(context);
  await createUnpaired(context.stage);
  return times;
}

let scenarioCount = 0;

function newTraffic({ stage, phone, contacts, instanceId }: Context): Traffic {
  const { client } = stage;
  const label = `scenario ${++scenarioCount}`;
  const network = stage.network.client;
  return new Traffic({ client, network, instanceId, phone, contacts, label, out: OUT, in: IN });
}

/** Runs an action under traffic. Every message must arrive once and in order, both ways. */
function underTraffic(action: (context: Context) => Promise<string>): (context: Context) => Promise<string> {
  return async (context) => {
    const { stage } = context;
    const { client } = stage.network;
    const traffic = (context.traffic = newTraffic(context));
    const before = await client.status();
    traffic.start();
    let summary: string;
    try {
      await until(async () => (await traffic.sums()).out.arrived > 0, {
        what: 'messages arrive before the action',
      });
      summary = await action(context);
      await stage.untilReady(NAME);
    } finally {
      await traffic.stop();
    }
    const sums = await traffic.settle();
    const after = await client.status();
    const faults = [...faultsOf(sums), ...traffic.refused, ...after.violations];
    const extra = (['repeated', 'unreadable', 'dropped'] as const)
      .map((fate) => [after.fates[fate] - before.fates[fate], fate] as const)
      .filter(([count]) => count > 0)
      .map(([count, fate]) => `${count} ${fate} under the same id`);
    if (traffic.repeated > 0) extra.push(`${traffic.repeated} requests repeated`);
    const figures = `${sums.out.sent} out and ${sums.in.sent} in: ${totals(sums)}${extra.length > 0 ? ` (${extra.join(', ')})` : ''}`;
    if (faults.length > 0) throw new Error(`${summary}; ${figures}\n${faults.join('\n')}`);
    return `${summary}; ${figures}`;
  };
}

type BothWays = Awaited<ReturnType<Traffic['sums']>>;
const FAULTS = ['lost', 'doubled', 'disordered'] as const;
/** The order in which inbound messages become events is printed, but not checked. */
const isPromised = (way: keyof BothWays, what: (typeof FAULTS)[number]): boolean =>
  way === 'out' || what !== 'disordered';

const totals = ({ out, in: incoming }: BothWays): string =>
  FAULTS.map((what) => `${what} ${out[what].length + incoming[what].length}`).join(', ');

const faultsOf = (sums: BothWays): string[] =>
  (['out', 'in'] as const).flatMap((way) =>
    FAULTS.filter((what) => isPromised(way, what) && sums[way][what].length > 0).map(
      (what) => `${way} ${what}: ${sums[way][what].slice(0, 5).join(', ')}`,
    ),
  );

async function deleteEngine(context: Context): Promise<string> {
  const action = () => context.stage.kubectl('delete', 'pod', `gwk-${NAME}`, '--wait=false');
  const gently = await reconnects(context, action, 60_000);
  await context.stage.untilReady(NAME);
  const at = (await enginePod(context)).spec.nodeName!;
  // The end of its first process ends the container, and the kubelet reports it.
  const killed = await reconnects(
    context,
    () => context.stage.cluster.node(at).killContainer('engine'),
    60_000,
  );
  return `connected again after ${gently}; killed by the kernel: ${killed}`;
}

async function leader({ stage }: Context): Promise<{ pod: PodSeen; holder: string }> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/gwk-operator`;
  type Lease = { spec: { holderIdentity?: string } };
  const { body } = await stage.cluster.admin.get<Lease>(path);
  const holder = body.spec.holderIdentity ?? '';
  const pod = (await stage.component('operator')).find(({ metadata }) => holder.startsWith(metadata.name));
  if (!pod) throw new Error(`no operator leads (${holder})`);
  return { pod, holder };
}

async function untilLedBy(context: Context, other: string): Promise<void> {
  await until(
    async () => {
      const { holder } = await leader(context);
      return holder !== '' && holder !== other;
    },
    { what: 'another operator leads', timeoutMs: 60_000, everyMs: 100 },
  );
}

async function killLeader(context: Context): Promise<string> {
  const took = clock();
  const { pod, holder } = await leader(context);
  await context.stage.kubectl(
    'delete',
    'pod',
    pod.metadata.name,
    '--grace-period=0',
    '--force',
    '--wait=false',
  );
  await untilLedBy(context, holder);
  const led = took();
  const connected = await reconnects(
    context,
    () => context.stage.kubectl('delete', 'pod', `gwk-${NAME}`, '--wait=false'),
    60_000,
  );
  return `another operator leads after ${led}, and replaces a deleted engine in ${connected}`;
}

async function changeLeader(context: Context): Promise<string> {
  const engine = (await enginePod(context)).metadata.uid;
  const took = clock();
  const { pod, holder } = await leader(context);
  await context.stage.kubectl('delete', 'pod', pod.metadata.name, '--wait=false');
  await untilLedBy(context, holder);
  const led = took();
  if ((await enginePod(context)).metadata.uid !== engine) throw new Error('the engine was replaced');
  return `another operator leads after ${led}, and the engine kept running`;
}

async function scaleApi({ stage }: Context): Promise<string> {
  const took = clock();
  for (const replicas of [1, 3, 1]) {
    await stage.kubectl('scale', 'deploy/gwk-api', `--replicas=${replicas}`);
    await stage.kubectl('rollout', 'status', 'deploy/gwk-api', '--timeout=120s');
    await until(async () => (await stage.component('api')).length === replicas, {
      what: `${replicas} pods of the API`,
      timeoutMs: 90_000,
    });
  }
  const done = took();
  await stage.kubectl('scale', 'deploy/gwk-api', '--replicas=2');
  await stage.kubectl('rollout', 'status', 'deploy/gwk-api', '--timeout=120s');
  return `done in ${done}`;
}

async function deleteRedis({ stage }: Context): Promise<string> {
  const took = clock();
  const [pod] = await stage.component('demo-redis');
  await stage.kubectl('delete', 'pod', pod!.metadata.name);
  await until(
    async () =>
      (await stage.component('demo-redis')).some(
        ({ metadata, status }) =>
          metadata.uid !== pod!.metadata.uid &&
          status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
      ),
    { what: 'another, empty Redis is ready' },
  );
  return `another, empty Redis after ${took()}`;
}

async function drainNode(context: Context): Promise<string> {
  const { stage } = context;
  const node = (await enginePod(context)).spec.nodeName!;
  if (node !== ENGINE_NODE) throw new Error(`the engine is on ${node}`);
  const drain = () =>
    stage.kubectl(
      'drain',
      node,
      '--force',
      '--ignore-daemonsets',
      '--delete-emptydir-data',
      '--timeout=120s',
    );
  const connected = await reconnects(context, drain, 120_000);
  const now = await until(
    async () => {
      const pod = await stage.pod(`gwk-${NAME}`);
      return pod?.spec.nodeName === MAIN_NODE && pod;
    },
    { what: 'the engine runs on the other node' },
  );
  await stage.kubectl('uncordon', node);
  return `connected again after ${connected}, on ${now.spec.nodeName}`;
}

const untilVersion = (stage: E2eStage, version: string) =>
  until(
    async () => {
      const { status } = await stage.instance(NAME);
      const connected = status?.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True');
      return connected && status?.engine?.version === version;
    },
    { what: `the engine has version ${version}`, timeoutMs: 120_000, everyMs: 100 },
  );

async function upgradeToRelease(context: Context): Promise<string> {
  const took = clock();
  await context.stage.publishRelease();
  const waited = took();
  return `release awaited for ${waited}; ${await underTraffic(upgrade)(context)}`;
}

/** The programs first, with engines of the former edition, then the engines. */
async function upgrade(context: Context): Promise<string> {
  const { stage } = context;
  const former = stage.first;
  const release = await stage.publishRelease();
  const took = clock();
  await installMixed(context, former, release);
  const mixed = took();
  await stage.installRelease();
  await untilVersion(stage, release.version);
  const from =
    former.why === undefined
      ? 'the former commit'
      : `these sources (upgrade from the former commit skipped: ${former.why})`;
  return `from ${from}: engines of ${former.version} with an API of ${release.version} after ${mixed}, all of ${release.version} after ${took()}`;
}

/** Installs the engines of one edition, and everything else of another one. */
async function installMixed({ stage, traffic }: Context, engine: Edition, rest: Edition): Promise<void> {
  await stage.install(rest, '--set', `engine.profiles.default.image=${nameImage(engine, 'engine')}`);
  await untilVersion(stage, engine.version);
  // Pods of the former edition continue to serve until they have ended.
  await until(
    async () => {
      const pods = await stage.component('api');
      return pods.every(({ spec }) => spec.containers[0]!.image === nameImage(rest, 'api'));
    },
    { what: `every API pod has version ${rest.version}`, timeoutMs: 90_000, everyMs: 200 },
  );
  const arrived = async () => (await traffic.sums()).out.arrived;
  const before = await arrived();
  await until(async () => (await arrived()) > before + 10, { what: 'messages continue to arrive' });
}

/** Kubernetes calls the node lost. The engine keeps running, and the operator creates no second one. */
async function stopKubelet(context: Context): Promise<string> {
  const { stage } = context;
  await moveTo(context, ENGINE_NODE);
  const engine = (await enginePod(context)).metadata.uid;
  const took = clock();
  await stage.cluster.node(ENGINE_NODE).stopKubelet();
  await stage.cluster.untilNodeIs(ENGINE_NODE, 'Unknown', 90_000);
  const lost = took();
  await until(
    async () => {
      const { status } = await stage.instance(NAME);
      const ready = status?.conditions.find(({ type }) => type === 'Ready');
      return ready?.reason === 'NodeUnreachable' || ready?.status === 'Unknown';
    },
    { what: 'the Instance reports an unreachable node', timeoutMs: 60_000 },
  );
  const before = (await context.traffic.sums()).out.arrived;
  await until(async () => (await context.traffic.sums()).out.arrived > before + 10, {
    what: 'the engine still sends',
  });
  if ((await enginePod(context)).metadata.uid !== engine) throw new Error('another engine was created');
  await stage.cluster.node(ENGINE_NODE).startKubelet();
  await stage.cluster.untilNodeIs(ENGINE_NODE, 'True', 90_000);
  return `the node was lost after ${lost}; the engine kept its lease and continued to send`;
}

async function losePower(context: Context): Promise<string> {
  const { stage } = context;
  await moveTo(context, ENGINE_NODE);
  const connected = await reconnects(context, () => stage.cluster.node(ENGINE_NODE).losePower(), 240_000);
  const pod = await until(
    async () => {
      const one = await stage.pod(`gwk-${NAME}`);
      return one?.spec.nodeName === MAIN_NODE && one;
    },
    { what: 'the engine runs on the other node' },
  );
  return `connected again after ${connected}, on ${pod.spec.nodeName}`;
}

/** Kubernetes does not move the engine back after a drain. */
