import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { MessageOut } from '@gwk/core/resources/message';
import type { Person } from '@gwk/network/control/client';
import { pairingSecretName, PAIRING_FIELD } from '@gwk/core/resources/pairing-request';
import { ROOT } from '../support/program.js';
import { until } from '../support/wait.js';
import { NAMESPACE, type E2eStage, type PodSeen } from './stage.js';
import type { Traffic } from './traffic.js';

/** State that the scenarios share. Each scenario may use what the ones before it prepared. */
export interface Context {
  stage: E2eStage;
  phone: Person;
  contacts: Person[];
  traffic: Traffic;
  instanceId: string;
}

export const NAME = 'shop';
const CONTACTS = 10;
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

export const clock = (): (() => string) => {
  const began = performance.now();
  return () => seconds(performance.now() - began);
};

export async function install({ stage }: Context): Promise<string> {
  const took = clock();
  await stage.install(stage.first);
  const done = took();
  await stage.openClient();
  const tested = await stage.helmTest();
  return `all ready after ${done}; helm test: ${tested}`;
}

export async function apply(stage: E2eStage, name: string, kind: string): Promise<void> {
  await stage.cluster.admin.applied({
    apiVersion: 'gwk.dev/v1',
    kind: 'Instance',
    metadata: { name, namespace: NAMESPACE },
    spec: { account: 'main', kind },
  });
}

export async function createToReady({ stage }: Context): Promise<string> {
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

/** Pods have no other way to the network, to endpoints and to the provider (way-out.ts). */
export async function passProxy(context: Context): Promise<string> {
  const { stage, contacts, phone } = context;
  const { wayOut, client } = stage;
  const took = clock();
  const { id } = await client.createWebhook(`${wayOut.hooksUrl}/hook`, { event_types: ['message.received'] });
  await sendFile(context);
  await contacts[0]!.writesFile('document', Buffer.alloc(20_000, 1), { to: phone.number });
  await until(() => wayOut.calls.some((call) => call.includes('"media_id"')), {
    what: 'the endpoint learns of the received file',
    timeoutMs: 60_000,
  });
  const passed = took();
  await client.expect(204, 'DELETE', `/v1/webhook-endpoints/${id}`);
  const signIn = await fetch(`${client.baseUrl}/console/api/session/provider`, {
    method: 'POST',
    headers: { origin: wayOut.origin },
  });
  const page = await signIn.text();
  if (!page.includes(wayOut.provider.issuer)) throw new Error(`sign-in: ${signIn.status} ${page}`);
  const counts = wayOut.countConnections();
  const unseen = Object.keys(counts).filter((host) => counts[host] === 0);
  if (unseen.length > 0) throw new Error(`not through the proxy: ${unseen.join(', ')}`);
  const figures = Object.entries(counts).map(([host, count]) => `${host} ${count}`);
  return `files both ways and a webhook after ${passed}; connections: ${figures.join(', ')}`;
}

/** The worker fetches the file from the host of webhooks. */
async function sendFile({ stage, contacts, instanceId }: Context): Promise<void> {
  const { client, wayOut } = stage;
  const ana = contacts[0]!;
  const media = { url: `${wayOut.hooksUrl}/file`, filename: 'a.pdf' };
  const body = { instance_id: instanceId, to: ana.number, type: 'document', document: { media } };
  const { id } = await client.expect<MessageOut>(202, 'POST', '/v1/messages', { body });
  const sent = await until(async () => (await client.message(id)).wa_message_id, {
    what: 'the file is sent',
    timeoutMs: 60_000,
  });
  const message = await ana.receives({ id: sent, limitMs: 30_000 });
  if (!(await ana.opens(message)).equals(wayOut.file)) throw new Error('another file arrived');
}

export const reconnects = async (
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

export async function enginePod({ stage }: Context): Promise<PodSeen> {
  const pod = await stage.pod(`gwk-${NAME}`);
  if (!pod) throw new Error('the instance has no engine');
  return pod;
}

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
