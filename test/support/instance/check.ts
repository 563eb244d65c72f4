import type { EventOut } from '@gwk/api/resources/event';
import type { MessageOut } from '@gwk/core/resources/message';
import type { Accepted } from '../gateway/traffic.js';
import type { Chat, WrittenText } from './conversations.js';
import type { Arrival } from './recorder.js';

/** Everything known about a run after it has settled. */
export interface Observations {
  chats: Chat[];
  /** By chat, in order of acceptance. */
  accepted: Map<string, Accepted[]>;
  /** By chat, in order of writing. */
  written: Map<string, WrittenText[]>;
  arrivals: readonly Arrival[];
  messages: readonly MessageOut[];
  /** Newest first, as listed. */
  events: readonly EventOut[];
}

/** A broken guarantee and the affected messages (network ids). */
export interface Fault {
  what: string;
  ids: string[];
}

export function findFaults(observed: Observations): Fault[] {
  return [
    ...findReadFaults(observed),
    ...observed.chats.flatMap((chat) => findChatFaults(observed, chat)),
    ...findStatusFaults(observed),
    ...observed.chats.flatMap((chat) => findInboundFaults(observed, chat)),
  ];
}

/** No phone dropped a message or requested it again. */
function findReadFaults({ arrivals }: Observations): Fault[] {
  return arrivals
    .filter(({ fate }) => fate === 'dropped' || fate === 'unreadable')
    .map(({ id, fate, to, error }) => ({ what: `${fate} on the phone of ${to}: ${error ?? ''}`, ids: [id] }));
}

/** Every reader has seen every accepted message exactly once and in order. */
function findChatFaults({ accepted, arrivals, messages }: Observations, chat: Chat): Fault[] {
  const wanted = accepted.get(chat.to) ?? [];
  const idsOnNetwork = new Map(messages.map(({ id, wa_message_id }) => [id, wa_message_id ?? id]));
  return chat.readers.flatMap((reader) => {
    const shown = arrivals.filter(
      (entry) => entry.to === reader.number && entry.group === chat.group && entry.fate === 'shown',
    );
    return differences(
      `${reader.number} in ${chat.to}`,
      wanted.map(({ id, text }) => ({ id: idsOnNetwork.get(id) ?? id, text })),
      shown.map(({ id, text }) => ({ id, text: text ?? '' })),
    );
  });
}

/** Compares two lists: missing, duplicate and unexpected entries, and the first difference in order. */
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

/** Every accepted message is delivered, and every status change has exactly one event. */
function findStatusFaults({ accepted, messages, events }: Observations): Fault[] {
  const rows = new Map(messages.map((message) => [message.id, message]));
  const reported = new Map<string, number>();
  for (const { type, data } of events) {
    if (type === 'message.received' || !type.startsWith('message.')) continue;
    const name = JSON.stringify([data['message_id'], type, data['status'] ?? null]);
    reported.set(name, (reported.get(name) ?? 0) + 1);
  }
  const twice = [...reported]
    .filter(([, times]) => times > 1)
    .map(([name, times]) => {
      const [id] = JSON.parse(name) as [string];
      return { what: `reported ${times} times: ${name}`, ids: [rows.get(id)?.wa_message_id ?? id] };
    });
  const wrong = [...accepted.values()].flat().flatMap(({ id, text }) => {
    const row = rows.get(id);
    const ids = [row?.wa_message_id ?? id];
    if (!row) return [{ what: `"${text}" (${id}) is not in the list of messages`, ids }];
    const is = `"${text}" (${id}) is ${row.status} ${row.error?.code ?? ''}`;
    if (row.status !== 'delivered' && row.status !== 'read') return [{ what: is, ids }];
    const isReported = reported.has(JSON.stringify([id, 'message.sent', null]));
    return isReported ? [] : [{ what: `${is}, and has no event message.sent`, ids }];
  });
  return [...twice, ...wrong];
}

/** Every message written in the chat has exactly one event, in order. */
export function findInboundFaults(
  { written, events }: Pick<Observations, 'written' | 'events'>,
  chat: Chat,
): Fault[] {
  const wanted = written.get(chat.to) ?? [];
  const ids = new Set(wanted.map(({ id }) => id));
  const reported = events
    .filter(({ type, data }) => type === 'message.received' && ids.has(data['wa_message_id'] as string))
    .sort((one, other) => (one.id < other.id ? -1 : 1))
    .map(({ data }) => ({ id: data['wa_message_id'] as string, text: data['text'] as string }));
  return differences(`events of ${chat.to}`, wanted, reported);
}
