import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Person } from '@gwk/network/control/client';
import { pairingSecretName, PAIRING_FIELD } from '@gwk/core/resources/pairing-request';
import { ROOT } from '../support/program.js';
import { until } from '../support/wait.js';
import { AWAY, HOME, NAMESPACE, VERSIONS, type E2eStage, type PodSeen } from './stage.js';
import { Traffic } from './traffic.js';

/** What a scenario works with, made by the ones before it. */
export interface Play {
  stage: E2eStage;
  phone: Person;
  contacts: Person[];
  traffic: Traffic;
  instanceId: string;
}

export type Scenario = [name: string, run: (play: Play) => Promise<string>];

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
  ['the first message goes out, and one comes in', firstMessages],
  ['the pod of the engine is deleted', underTraffic(deleteEngine)],
  ['the operator that leads is killed', underTraffic(killLeader)],
  ['the operator leads elsewhere', underTraffic(changeLeader)],
  ['the API is scaled from 2 to 1 to 3 to 1', underTraffic(scaleApi)],
  ['the pod of Redis is deleted', underTraffic(deleteRedis)],
  ['the node of the engine is drained', underTraffic(drainNode)],
  ['helm upgrade to the next minor version', underTraffic(upgrade)],
  ['engines of the former version under an API of the next', underTraffic(oldEngineNewApi)],
  ['engines of the next version under an API of the former', underTraffic(newEngineOldApi)],
  ['the kubelet of the engine stops, and comes back', underTraffic(stopKubelet)],
  ['the node of the engine loses its power', underTraffic(losePower)],
];

export async function install({ stage }: Play): Promise<string> {
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

async function createToReady({ stage }: Play): Promise<string> {
  return (await timesToReady(stage, 3)).map(seconds).join(', ');
}

/** Of so many sandboxes, one after the other, in milliseconds. */
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

/** The QR is on the terminal as a picture; the phone is shown what the picture says. */
export async function pairPhone({ stage, phone }: Play): Promise<string> {
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

export async function firstMessages(play: Play): Promise<string> {
  const { stage, contacts, phone } = play;
  const [ana] = contacts;
  const instanceId = (await stage.instance(NAME)).status!.id!;
  const { client } = stage;
  play.instanceId = instanceId;
  const took = clock();
  await client.acceptedText(instanceId, ana!.number, 'first');
  await ana!.receives({ text: 'first', limitMs: 30_000 });
  const out = took();
  await ana!.writes('hello', { to: phone.number });
  await until(
    async () => (await client.events({ instance_id: instanceId, type: 'message.received' })).length > 0,
    { what: 'it is an event', timeoutMs: 30_000 },
  );
  return `out in ${out}, both in ${took()}`;
}

let scenes = 0;

function newTraffic({ stage, phone, contacts, instanceId }: Play): Traffic {
  const { client } = stage;
  const label = `scene ${++scenes}`;
  const network = stage.network.client;
  return new Traffic({ client, network, instanceId, phone, contacts, label, out: OUT, in: IN });
}

/** Whatever is done, everything that was sent arrives once and in order, both ways. */
function underTraffic(deed: (play: Play) => Promise<string>): (play: Play) => Promise<string> {
  return async (play) => {
    const { stage } = play;
    const { client } = stage.network;
    const traffic = (play.traffic = newTraffic(play));
    const before = await client.status();
    traffic.start();
    let told: string;
    try {
      await until(async () => (await traffic.sums()).out.arrived > 0, {
        what: 'messages arrive before anything happens',
      });
      told = await deed(play);
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
    if (traffic.repeated > 0) extra.push(`${traffic.repeated} requests made again`);
    const figures = `${sums.out.sent} out and ${sums.in.sent} in: ${totals(sums)}${extra.length > 0 ? ` (${extra.join(', ')})` : ''}`;
    if (faults.length > 0) throw new Error(`${told}; ${figures}\n${faults.join('\n')}`);
    return `${told}; ${figures}`;
  };
}

type BothWays = Awaited<ReturnType<Traffic['sums']>>;
const FAULTS = ['lost', 'doubled', 'disordered'] as const;
/** In what order messages that came in become events is shown, and not promised. */
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

const reconnects = async (play: Play, deed: () => Promise<unknown>, timeoutMs: number): Promise<string> =>
  seconds((await nextLogin(play, deed, timeoutMs)).ms);

/** When another engine has logged in, as the network sees it, and how long after now. It is the only number there. */
export async function nextLogin(
  play: Play,
  deed: () => Promise<unknown>,
  timeoutMs: number,
): Promise<{ at: number; ms: number }> {
  const { stage } = play;
  const before = (await enginePod(play)).metadata.uid;
  const began = Date.now();
  await deed();
  const next = await until(
    async () => {
      const pod = await stage.pod(`gwk-${NAME}`);
      return pod !== undefined && pod.metadata.uid !== before && pod;
    },
    { what: 'there is another engine', timeoutMs, everyMs: 50 },
  );
  // The former one is gone by then, and what it did at its end is not taken for this one's doing.
  const since = Date.parse(next.metadata.creationTimestamp);
  const login = await until(
    async () => {
      const logins = await stage.network.client.stanzas({ way: 'out', tag: 'success' });
      return logins.find(({ at }) => at >= since);
    },
    { what: 'it has logged in', timeoutMs, everyMs: 50 },
  );
  await stage.untilReady(NAME, timeoutMs);
  return { at: login.at, ms: login.at - began };
}

async function enginePod({ stage }: Play): Promise<PodSeen> {
  const pod = await stage.pod(`gwk-${NAME}`);
  if (!pod) throw new Error('the number has no engine');
  return pod;
}

async function deleteEngine(play: Play): Promise<string> {
  const deed = () => play.stage.kubectl('delete', 'pod', `gwk-${NAME}`, '--wait=false');
  const gently = await reconnects(play, deed, 60_000);
  await play.stage.untilReady(NAME);
  const at = (await enginePod(play)).spec.nodeName!;
  // Its first process ends with it, and the kubelet says so.
  const killed = await reconnects(play, () => play.stage.cluster.node(at).killContainer('engine'), 60_000);
  return `connected again after ${gently}; killed by the kernel: ${killed}`;
}

async function leader({ stage }: Play): Promise<{ pod: PodSeen; holder: string }> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/gwk-operator`;
  type Lease = { spec: { holderIdentity?: string } };
  const { body } = await stage.cluster.admin.get<Lease>(path);
  const holder = body.spec.holderIdentity ?? '';
  const pod = (await stage.component('operator')).find(({ metadata }) => holder.startsWith(metadata.name));
  if (!pod) throw new Error(`no operator leads (${holder})`);
  return { pod, holder };
}

async function untilLedBy(play: Play, other: string): Promise<void> {
  await until(
    async () => {
      const { holder } = await leader(play);
      return holder !== '' && holder !== other;
    },
    { what: 'another operator leads', timeoutMs: 60_000, everyMs: 100 },
  );
}

async function killLeader(play: Play): Promise<string> {
  const took = clock();
  const { pod, holder } = await leader(play);
  await play.stage.kubectl('delete', 'pod', pod.metadata.name, '--grace-period=0', '--force', '--wait=false');
  await untilLedBy(play, holder);
  const led = took();
  const connected = await reconnects(
    play,
    () => play.stage.kubectl('delete', 'pod', `gwk-${NAME}`, '--wait=false'),
    60_000,
  );
  return `another leads after ${led}, and brings a deleted engine back in ${connected}`;
}

async function changeLeader(play: Play): Promise<string> {
  const engine = (await enginePod(play)).metadata.uid;
  const took = clock();
  const { pod, holder } = await leader(play);
  await play.stage.kubectl('delete', 'pod', pod.metadata.name, '--wait=false');
  await untilLedBy(play, holder);
  const led = took();
  if ((await enginePod(play)).metadata.uid !== engine) throw new Error('the engine was replaced');
  return `another leads after ${led}, and the engine went on`;
}

async function scaleApi({ stage }: Play): Promise<string> {
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

async function deleteRedis({ stage }: Play): Promise<string> {
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
    { what: 'there is another Redis, which knows nothing' },
  );
  return `another one, empty, after ${took()}`;
}

async function drainNode(play: Play): Promise<string> {
  const { stage } = play;
  const node = (await enginePod(play)).spec.nodeName!;
  if (node !== AWAY) throw new Error(`the engine is on ${node}`);
  const drain = () =>
    stage.kubectl(
      'drain',
      node,
      '--force',
      '--ignore-daemonsets',
      '--delete-emptydir-data',
      '--timeout=120s',
    );
  const connected = await reconnects(play, drain, 120_000);
  const now = await until(
    async () => {
      const pod = await stage.pod(`gwk-${NAME}`);
      return pod?.spec.nodeName === HOME && pod;
    },
    { what: 'the engine is elsewhere' },
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
    { what: `the engine is of version ${version}`, timeoutMs: 120_000, everyMs: 100 },
  );

async function upgrade({ stage }: Play): Promise<string> {
  const took = clock();
  await stage.install(VERSIONS.next);
  const done = took();
  await untilVersion(stage, VERSIONS.next);
  return `helm upgrade --wait in ${done}, the engine of ${VERSIONS.next} after ${took()}`;
}

/** Engines are of one version, everything else is of the other. */
async function mixed({ stage, traffic }: Play, engine: string, rest: string): Promise<string> {
  await stage.install(rest, '--set', `engine.profiles.default.image=gwk-engine:${engine}`);
  await untilVersion(stage, engine);
  // Pods of the former version go on for a while, and serve until they have ended.
  await until(
    async () => {
      const pods = await stage.component('api');
      return pods.every(({ spec }) => spec.containers[0]!.image.endsWith(`:${rest}`));
    },
    { what: `every API is of version ${rest}`, timeoutMs: 90_000, everyMs: 200 },
  );
  const arrived = async () => (await traffic.sums()).out.arrived;
  const before = await arrived();
  await until(async () => (await arrived()) > before + 10, { what: 'messages go on arriving' });
  return `engine ${engine} with API ${rest}`;
}

function oldEngineNewApi(play: Play): Promise<string> {
  return mixed(play, VERSIONS.first, VERSIONS.next);
}

function newEngineOldApi(play: Play): Promise<string> {
  return mixed(play, VERSIONS.next, VERSIONS.first);
}

/** The engine goes on, and nobody makes another one, though Kubernetes calls its node lost. */
async function stopKubelet(play: Play): Promise<string> {
  const { stage } = play;
  await moveTo(play, AWAY);
  const engine = (await enginePod(play)).metadata.uid;
  const took = clock();
  await stage.cluster.node(AWAY).stopKubelet();
  await stage.cluster.untilNodeIs(AWAY, 'Unknown', 90_000);
  const lost = took();
  await until(
    async () => {
      const { status } = await stage.instance(NAME);
      const ready = status?.conditions.find(({ type }) => type === 'Ready');
      return ready?.reason === 'NodeUnreachable' || ready?.status === 'Unknown';
    },
    { what: 'the Instance says that its node is silent', timeoutMs: 60_000 },
  );
  const before = (await play.traffic.sums()).out.arrived;
  await until(async () => (await play.traffic.sums()).out.arrived > before + 10, { what: 'it still sends' });
  if ((await enginePod(play)).metadata.uid !== engine) throw new Error('another engine was made');
  await stage.cluster.node(AWAY).startKubelet();
  await stage.cluster.untilNodeIs(AWAY, 'True', 90_000);
  return `the node was lost after ${lost}; the engine kept its number and went on sending`;
}

async function losePower(play: Play): Promise<string> {
  const { stage } = play;
  await moveTo(play, AWAY);
  const connected = await reconnects(play, () => stage.cluster.node(AWAY).losePower(), 240_000);
  const pod = await until(
    async () => {
      const one = await stage.pod(`gwk-${NAME}`);
      return one?.spec.nodeName === HOME && one;
    },
    { what: 'the engine is elsewhere' },
  );
  return `connected again after ${connected}, on ${pod.spec.nodeName}`;
}

/** A drain has moved it, and nothing moves it back by itself. */
export async function moveTo(play: Play, node: string): Promise<void> {
  await play.stage.untilReady(NAME);
  if ((await enginePod(play)).spec.nodeName === node) return;
  await play.stage.kubectl('delete', 'pod', `gwk-${NAME}`);
  await until(async () => (await play.stage.pod(`gwk-${NAME}`))?.spec.nodeName === node, {
    what: `the engine is on ${node}`,
  });
  await play.stage.untilReady(NAME);
}

export async function people(stage: E2eStage): Promise<Pick<Play, 'phone' | 'contacts'>> {
  const { client } = stage.network;
  const phone = await client.phone('5511900000001', { name: 'Shop' });
  const numbers = Array.from({ length: CONTACTS }, (_, n) => `55119000001${String(n).padStart(2, '0')}`);
  const contacts = await Promise.all(numbers.map((number) => client.contact(number, { name: number })));
  return { phone, contacts };
}
