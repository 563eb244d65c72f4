import type { EventOut } from '@gwk/core/resources/event';
import type { MessageOut } from '@gwk/core/resources/message';
import type { Accepted } from '../gateway/traffic.js';
import type { Chat, WrittenText } from './conversations.js';
import type { Arrival } from './recorder.js';

/** All that is known of a run when everything has come to rest. */
export interface Observations {
  chats: Chat[];
  /** By room, in the order of acceptance. */
  accepted: Map<string, Accepted[]>;
  /** By room, in the order of writing. */
  written: Map<string, WrittenText[]>;
  arrivals: readonly Arrival[];
  messages: readonly MessageOut[];
  /** Newest first, as they are listed. */
  events: readonly EventOut[];
}

/** A promise that was not kept, and of which messages (ids on the network). */
export interface Fault {
  what: string;
  ids: string[];
}

export function findFaults(observed: Observations): Fault[] {
  return [
    ...faultsOfReading(observed),
    ...observed.chats.flatMap((room) => faultsOfRoom(observed, room)),
    ...faultsOfStatus(observed),
    ...observed.chats.flatMap((room) => findInboundFaults(observed, room)),
  ];
}

/** Neither lost on a phone without a word, nor asked for again. */
function faultsOfReading({ arrivals }: Observations): Fault[] {
  return arrivals
    .filter(({ fate }) => fate === 'dropped' || fate === 'unreadable')
    .map(({ id, fate, to, error }) => ({ what: `${fate} on the phone of ${to}: ${error ?? ''}`, ids: [id] }));
}

/** Every reader has seen what was accepted: all of it, once, in that order. */
function faultsOfRoom({ accepted, arrivals, messages }: Observations, room: Chat): Fault[] {
  const wanted = accepted.get(room.to) ?? [];
  const idsOnNetwork = new Map(messages.map(({ id, wa_message_id }) => [id, wa_message_id ?? id]));
  return room.readers.flatMap((reader) => {
    const shown = arrivals.filter(
      (entry) => entry.to === reader.number && entry.group === room.group && entry.fate === 'shown',
    );
    return differences(
      `${reader.number} in ${room.to}`,
      wanted.map(({ id, text }) => ({ id: idsOnNetwork.get(id) ?? id, text })),
      shown.map(({ id, text }) => ({ id, text: text ?? '' })),
    );
  });
}

/** Of two lists that are to be one: what is missing, what is twice or strange, and where the order differs first. */
function differences(where: string, wanted: readonly WrittenText[], found: readonly WrittenText[]): Fault[] {
  const faults: Fault[] = [];
  const texts = new Set(wanted.map(({ text }) => text));
  const seen = new Set<string>();
  const once = found.filter(({ id, text }) => {
    if (!texts.has(text)) faults.push({ what: `${where}: "${text}" was never sent`, ids: [id] });
    else if (seen.has(text)) faults.push({ what: `${where}: "${text}" is there twice`, ids: [id] });
    else return seen.add(text);
    return false;
  });
  const missing = wanted.filter(({ text }) => !seen.has(text));
  for (const { id, text } of missing) faults.push({ what: `${where}: "${text}" is missing`, ids: [id] });
  const present = wanted.filter(({ text }) => seen.has(text));
  const at = present.findIndex(({ text }, place) => text !== once[place]?.text);
  if (at >= 0) {
    const [right, wrong] = [present[at]!, once[at]!];
    const what = `${where}: place ${at} is "${wrong.text}", not "${right.text}"`;
    faults.push({ what, ids: [right.id, wrong.id] });
  }
  return faults;
}

/** Each accepted message is delivered, and each of its advances was told once. */
function faultsOfStatus({ accepted, messages, events }: Observations): Fault[] {
  const rows = new Map(messages.map((message) => [message.id, message]));
  const told = new Map<string, number>();
  for (const { type, data } of events) {
    if (type === 'message.received' || !type.startsWith('message.')) continue;
    const name = JSON.stringify([data['message_id'], type, data['status'] ?? null]);
    told.set(name, (told.get(name) ?? 0) + 1);
  }
  const twice = [...told]
    .filter(([, times]) => times > 1)
    .map(([name, times]) => {
      const [id] = JSON.parse(name) as [string];
      return { what: `told ${times} times: ${name}`, ids: [rows.get(id)?.wa_message_id ?? id] };
    });
  const wrong = [...accepted.values()].flat().flatMap(({ id, text }) => {
    const row = rows.get(id);
    const ids = [row?.wa_message_id ?? id];
    if (!row) return [{ what: `"${text}" (${id}) is not in the list of messages`, ids }];
    const is = `"${text}" (${id}) is ${row.status} ${row.error?.code ?? ''}`;
    if (row.status !== 'delivered' && row.status !== 'read') return [{ what: is, ids }];
    const isTold = told.has(JSON.stringify([id, 'message.sent', null]));
    return isTold ? [] : [{ what: `${is}, and has no event message.sent`, ids }];
  });
  return [...twice, ...wrong];
}

/** What was said in the room was told: all of it, once, in that order. */
export function findInboundFaults(
  { written, events }: Pick<Observations, 'written' | 'events'>,
  room: Chat,
): Fault[] {
  const wanted = written.get(room.to) ?? [];
  const ids = new Set(wanted.map(({ id }) => id));
  const told = events
    .filter(({ type, data }) => type === 'message.received' && ids.has(data['wa_message_id'] as string))
    .sort((one, other) => (one.id < other.id ? -1 : 1))
    .map(({ data }) => ({ id: data['wa_message_id'] as string, text: data['text'] as string }));
  return differences(`events of ${room.to}`, wanted, told);
}
