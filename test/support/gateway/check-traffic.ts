import { fromPublicId, lowestUuidAt } from '@gwk/core/ids/ids';
import type { EventOut } from '@gwk/api/resources/event';
import type { MessageOut } from '@gwk/core/resources/message';
import { hasLeft } from '@gwk/core/states';
import type { GatewayClient } from './client.js';
import { byId, type Network, type Stanza } from './network.js';
import type { ReceivedCall, Receiver } from './receiver.js';
import type { Traffic } from './traffic.js';
import { until } from '../wait.js';

/** Records to compare the traffic with. */
export interface TrafficSources {
  client: GatewayClient;
  instanceId: string;
  network: Network;
  receiver: Receiver;
  /** Endpoint for all events of the instance, and its path. */
  endpointId: string;
  path: string;
}

/** Result of traffic: sums to print, and faults, which must be empty. */
export interface TrafficReport {
  sums: Record<string, number>;
  faults: string[];
}

const WAIT = { everyMs: 250 };

const LEAVING = ['queued', 'sending'];

/** Receipts of the sandbox arrive within a second of the send. */
const RECEIPTS_MS = 2000;

/** Waits until the instance has no queued or unsent message, no outstanding receipt and no pending delivery. */
export async function settle(witnesses: TrafficSources): Promise<void> {
  const { client, instanceId } = witnesses;
  const waiting = async () => {
    const queries = LEAVING.map((status) => client.anyMessage({ instance_id: instanceId, status }));
    return (await Promise.all(queries)).includes(true);
  };
  await until(async () => !(await waiting()), { ...WAIT, what: 'no message is queued or sending' });
  const quiet = steadyFor(RECEIPTS_MS, async () => (await client.events({ instance_id: instanceId })).length);
  await until(quiet, { ...WAIT, what: 'no more events come' });
  await nothingPending(witnesses);
}

async function nothingPending({ client, endpointId }: TrafficSources): Promise<void> {
  const pending = async () => (await client.deliveries(endpointId, { status: 'pending' })).length;
  await until(async () => (await pending()) === 0, { ...WAIT, what: 'no webhook delivery is pending' });
}

export function steadyFor(ms: number, measure: () => Promise<number>): () => Promise<boolean> {
  let last = -1;
  let since = Date.now();
  return async () => {
    const value = await measure();
    if (value !== last) since = Date.now();
    last = value;
    return Date.now() - since >= ms;
  };
}

export async function checkTraffic(traffic: Traffic, witnesses: TrafficSources): Promise<TrafficReport> {
  const { client, instanceId, network, receiver, path } = witnesses;
  const since = { instance_id: instanceId, since: traffic.startedAt.toISOString() };
  const [all, messages, events] = await Promise.all([
    network.stanzas(),
    client.messages(since),
    client.events(since),
  ]);
  // A late receipt may just have created one of these events.
  await nothingPending(witnesses);
  const received = await receiver.calls(path);
  const first = lowestUuidAt(traffic.startedAt.getTime());
  const calls = received.filter(({ id }) => (fromPublicId('event', id) ?? '') >= first);
  const texts = new Set([...traffic.byChat.values()].flat().map(({ text }) => text));
  const stanzas = all.filter((stanza) => texts.has(stanza.text));
  const ids = byId(stanzas);
  const faults = [
    ...findIdFaults(ids),
    ...findMessageFaults(traffic, ids, messages),
    ...findOrderFaults(traffic, stanzas),
    ...findEventFaults(events, calls),
    ...findSentEventFaults(traffic, events),
  ];
  const sums = {
    accepted: traffic.count,
    left: new Set(stanzas.map(({ text }) => text)).size,
    'ids on the network': ids.size,
    stanzas: stanzas.length,
    're-sent stanzas': stanzas.length - ids.size,
    'repeated posts': traffic.repeatedPosts,
    'replayed answers': traffic.replays,
    events: events.length,
    'events received': new Set(calls.map(({ id }) => id)).size,
    'webhook calls': calls.length,
  };
  return { sums, faults };
}

/** Each network id belongs to one message with the same bytes at every arrival, and each message has one id. */
function findIdFaults(ids: Map<string, Stanza[]>): string[] {
  const faults: string[] = [];
  const idOfText = new Map<string, string>();
  for (const [id, arrivals] of ids) {
    if (new Set(arrivals.map(({ bytes }) => bytes)).size > 1)
      faults.push(`id ${id} left with different bytes`);
    for (const text of new Set(arrivals.map((arrival) => arrival.text))) {
      const other = idOfText.get(text);
      if (other !== undefined) faults.push(`"${text}" left with two ids: ${other} and ${id}`);
      idOfText.set(text, id);
    }
  }
  return faults;
}

function findMessageFaults(traffic: Traffic, ids: Map<string, Stanza[]>, messages: MessageOut[]): string[] {
  const rows = new Map(messages.map((message) => [message.id, message]));
  return [...traffic.byChat.values()].flat().flatMap(({ id, text, chat }) => {
    const row = rows.get(id);
    if (!row) return [`"${text}" (${id}) is not in the list of messages`];
    if (!hasLeft(row.status)) {
      return [`"${text}" (${id}) is ${row.status} ${row.error?.code ?? ''}`];
    }
    const arrivals = ids.get(row.wa_message_id ?? '') ?? [];
    const right = arrivals.every((arrival) => arrival.text === text && arrival.chat === chat);
    return arrivals.length > 0 && right ? [] : [`"${text}" (${id}) is ${row.status} and never left as such`];
  });
}

/**
 * Within a conversation, messages arrive in order of acceptance. A message may arrive again only before the next one.
 */
function findOrderFaults(traffic: Traffic, stanzas: Stanza[]): string[] {
  return [...traffic.byChat].flatMap(([chat, accepted]) => {
    const arrived = stanzas
      .filter((stanza) => stanza.chat === chat)
      .map(({ text }) => text)
      .filter((text, index, list) => text !== list[index - 1]);
    const wanted = accepted.map(({ text }) => text);
    const at = wanted.findIndex((text, index) => text !== arrived[index]);
    if (at === -1 && arrived.length === wanted.length) return [];
    const place = at === -1 ? wanted.length : at;
    return [`${chat}: position ${place} is "${arrived[place]}", not "${wanted[place]}"`];
  });
}

/** Every event was received at least once, with a valid signature and the listed content. */
export function findEventFaults(events: EventOut[], calls: ReceivedCall[]): string[] {
  const received = new Map<string, ReceivedCall>();
  for (const call of calls) received.set(call.id, call);
  const unverified = calls
    .filter((call) => call.verified !== true)
    .map((call) => `call ${call.id}: bad signature`);
  const faults = events.flatMap((event) => {
    const call = received.get(event.id);
    if (!call) return [`event ${event.id} (${event.type}) was never received`];
    const same = call.type === event.type && JSON.stringify(call.data) === JSON.stringify(event.data);
    return same ? [] : [`event ${event.id} (${event.type}) was received with other content than listed`];
  });
  return [...unverified, ...faults];
}

/** Each sent message has exactly one message.sent event and one event for each status change. */
function findSentEventFaults(traffic: Traffic, events: EventOut[]): string[] {
  const seen = new Set<string>();
  const sent = new Set<unknown>();
  const doubled: string[] = [];
  for (const { type, data } of events) {
    if (!type.startsWith('message.')) continue;
    const name = JSON.stringify([type, data['status'], data['message_id']]);
    if (seen.has(name)) doubled.push(`two events: ${name}`);
    seen.add(name);
    if (type === 'message.sent') sent.add(data['message_id']);
  }
  const missing = [...traffic.byChat.values()]
    .flat()
    .filter(({ id }) => !sent.has(id))
    .map(({ id }) => `message ${id} has no event message.sent`);
  return [...doubled, ...missing];
}

/** Prints sums below the name of a test. */
export function report(title: string, sums: Record<string, number | string>): void {
  const lines = Object.entries(sums).map(([name, value]) => `    ${name}: ${value}`);
  process.stdout.write(`  ${title}\n${lines.join('\n')}\n`);
}
