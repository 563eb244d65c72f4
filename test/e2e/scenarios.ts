import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Person } from '@gwk/network/control/client';
import { pairingSecretName, PAIRING_FIELD } from '@gwk/core/resources/pairing-request';
import { ROOT } from '../support/program.js';
import { until } from '../support/wait.js';
import { ENGINE_NODE, MAIN_NODE, NAMESPACE, VERSIONS, type E2eStage, type PodSeen } from './stage.js';
import { Traffic } from './traffic.js';

/** State that the scenarios share. Each scenario may use what the ones before it prepared. */
export interface Context {
  stage: E2eStage;
  phone: Person;
  contacts: Person[];
  traffic: Traffic;
  instanceId: string;
}

export type Scenario = [name: string, run: (context: Context) => Promise<string>];

export const NAME = 'shop';
const CONTACTS = 10;
const OUT = Number(process.env['E2E_OUT'] ?? 5);
const IN = Number(process.env['E2E_IN'] ?? 2);
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const clock = (): (() => string) => {
  const began = performance.now();
  return () => seconds(performance.now() - began);
};

export const SCENARIOS: Scenario[] = [
  ['helm install --wait, with demo', install],
  ['a sandbox: created to Ready', createToReady],
  ['gwk pair, with the credentials of kubectl', pairPhone],
  ['the first message is sent, and one is received', firstMessages],
  ['the pod of the engine is deleted', underTraffic(deleteEngine)],
  ['the leading operator is killed', underTraffic(killLeader)],
  ['the leading operator changes', underTraffic(changeLeader)],
  ['the API is scaled from 2 to 1, 3 and 1', underTraffic(scaleApi)],
  ['the pod of Redis is deleted', underTraffic(deleteRedis)],
  ['the node of the engine is drained', underTraffic(drainNode)],
  ['helm upgrade to the next minor version', underTraffic(upgrade)],
  ['engines of the first version with an API of the next', underTraffic(oldEngineNewApi)],
  ['engines of the next version with an API of the first', underTraffic(newEngineOldApi)],
  ['the kubelet of the engine stops, then starts again', underTraffic(stopKubelet)],
  ['the node of the engine loses its power', underTraffic(losePower)],
];

export async function install({ stage }: Context): Promise<string> {
  const took = clock();
  await stage.install(VERSIONS.first);
  const done = took();
  await stage.openClient();
  const tested = await stage.helmTest();
  return `all ready after ${done}; helm test: ${tested}`;
}

async function apply(stage: E2eStage, name: string, kind: string): Promise<void> {
  await stage.cluster.admin.applied({
    apiVersion: 'gwk.dev/v1alpha1',
    kind: 'Instance',
    metadata: { name, namespace: NAMESPACE },
    spec: { account: 'main', kind },
  });
}

async function createToReady({ stage }: Context): Promise<string> {
  return (await timesToReady(stage, 3)).map(seconds).join(', ');
}

/** Milliseconds from the creation to Ready for `count` sandboxes, created one after the other. */
export async function timesToReady(stage: E2eStage, count: number): Promise<number[]> {
  const names = Array.from({ length: count }, (_, n) => `trial-${n + 1}`);
  const times: number[] = [];
  for (const name of names) {
    const began = performance.now();
    await apply(stage, name, 'sandbox');
    await stage.untilReady(name);
    times.push(performance.now() - began);
  }
  await stage.kubectl('delete', 'gwi', ...names, '--timeout=60s');
  return times;
}

/** `gwk pair` prints the QR code as a picture. The phone scans the code of the pairing Secret instead. */
export async function pairPhone({ stage, phone }: Context): Promise<string> {
  await apply(stage, NAME, 'web');
  const took = clock();
  const child = spawn(process.execPath, [join(ROOT, 'bin/gwk.js'), 'pair', NAME, '-n', NAMESPACE], {
    env: { ...process.env, KUBECONFIG: stage.cluster.plane.kubeconfig },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until(() => said.includes('scan this'), { what: 'gwk pair shows a QR', timeoutMs: 60_000 });
  const shown = took();
  const secret = await stage.object<{ data: Record<string, string> }>('secrets', pairingSecretName(NAME));
  const view = JSON.parse(Buffer.from(secret.data[PAIRING_FIELD]!, 'base64').toString()) as { code: string };
  await phone.scan(view.code);
  if ((await ended) !== 0) throw new Error(said);
  await stage.untilReady(NAME);
  return `QR after ${shown}, Ready after ${took()}: ${said.trim().split('\n').at(-1)}`;
}

export async function firstMessages(context: Context): Promise<string> {
  const { stage, contacts, phone } = context;
  const [ana] = contacts;
  const instanceId = (await stage.instance(NAME)).status!.id!;
  const { client } = stage;
  context.instanceId = instanceId;
  const took = clock();
  await client.acceptedText(instanceId, ana!.number, 'first');
  await ana!.receives({ text: 'first', limitMs: 30_000 });
  const out = took();
  await ana!.writes('hello', { to: phone.number });
  await until(
    async () => (await client.events({ instance_id: instanceId, type: 'message.received' })).length > 0,
    { what: 'the message is an event', timeoutMs: 30_000 },
  );
  return `out in ${out}, both in ${took()}`;
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

const reconnects = async (
  context: Context,
  action: () => Promise<unknown>,
  timeoutMs: number,
): Promise<string> => seconds((await nextLogin(context, action, timeoutMs)).ms);

/**
 * Time of the next engine's login as the network sees it, and milliseconds until then. The cluster has no other
 * instance.
 */
export async function nextLogin(
  context: Context,
  action: () => Promise<unknown>,
  timeoutMs: number,
): Promise<{ at: number; ms: number }> {
  const { stage } = context;
  const before = (await enginePod(context)).metadata.uid;
  const began = Date.now();
  await action();
  const next = await until(
    async () => {
      const pod = await stage.pod(`gwk-${NAME}`);
      return pod !== undefined && pod.metadata.uid !== before && pod;
    },
    { what: 'another engine exists', timeoutMs, everyMs: 50 },
  );
  // The former engine has ended by then, so this login cannot be its own.
  const since = Date.parse(next.metadata.creationTimestamp);
  const login = await until(
    async () => {
      const logins = await stage.network.client.stanzas({ way: 'out', tag: 'success' });
      return logins.find(({ at }) => at >= since);
    },
    { what: 'the engine has logged in', timeoutMs, everyMs: 50 },
  );
  await stage.untilReady(NAME, timeoutMs);
  return { at: login.at, ms: login.at - began };
}

async function enginePod({ stage }: Context): Promise<PodSeen> {
  const pod = await stage.pod(`gwk-${NAME}`);
  if (!pod) throw new Error('the instance has no engine');
  return pod;
}

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

async function upgrade({ stage }: Context): Promise<string> {
  const took = clock();
  await stage.install(VERSIONS.next);
  const done = took();
  await untilVersion(stage, VERSIONS.next);
  return `helm upgrade --wait in ${done}, the engine of ${VERSIONS.next} after ${took()}`;
}

/** Installs one version of the engines, and another version of everything else. */
async function mixed({ stage, traffic }: Context, engine: string, rest: string): Promise<string> {
  await stage.install(rest, '--set', `engine.profiles.default.image=gwk-engine:${engine}`);
  await untilVersion(stage, engine);
  // Pods of the former version continue to serve until they have ended.
  await until(
    async () => {
      const pods = await stage.component('api');
      return pods.every(({ spec }) => spec.containers[0]!.image.endsWith(`:${rest}`));
    },
    { what: `every API pod has version ${rest}`, timeoutMs: 90_000, everyMs: 200 },
  );
  const arrived = async () => (await traffic.sums()).out.arrived;
  const before = await arrived();
  await until(async () => (await arrived()) > before + 10, { what: 'messages continue to arrive' });
  return `engine ${engine} with API ${rest}`;
}

function oldEngineNewApi(context: Context): Promise<string> {
  return mixed(context, VERSIONS.first, VERSIONS.next);
}

function newEngineOldApi(context: Context): Promise<string> {
  return mixed(context, VERSIONS.next, VERSIONS.first);
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
export async function moveTo(context: Context, node: string): Promise<void> {
  await context.stage.untilReady(NAME);
  if ((await enginePod(context)).spec.nodeName === node) return;
  await context.stage.kubectl('delete', 'pod', `gwk-${NAME}`);
  await until(async () => (await context.stage.pod(`gwk-${NAME}`))?.spec.nodeName === node, {
    what: `the engine is on ${node}`,
  });
  await context.stage.untilReady(NAME);
}

export async function people(stage: E2eStage): Promise<Pick<Context, 'phone' | 'contacts'>> {
  const { client } = stage.network;
  const phone = await client.phone('5511900000001', { name: 'Shop' });
  const numbers = Array.from({ length: CONTACTS }, (_, n) => `55119000001${String(n).padStart(2, '0')}`);
  const contacts = await Promise.all(numbers.map((number) => client.contact(number, { name: number })));
  return { phone, contacts };
}
