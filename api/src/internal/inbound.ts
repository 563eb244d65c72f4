import { Batcher } from '@gwk/core/batcher';
import { newUuid, timeOfUuid } from '@gwk/core/ids';
import type { EngineRequest, InboundMessage, LeaseName } from '@gwk/core/protocol/engine';
import { networkIdOf, parseRecipient, type Recipient } from '@gwk/core/recipients';
import { eventItem, messageReceived, phoneOf, type EventDraft } from '../events/emit.js';
import type { EngineCaller, InternalDeps } from './deps.js';
import { isUndone } from './grouping.js';
import { RefusalError, type Verdict } from './refusal.js';

/**
 * What engines receive, in groups over all engines: what is known of the conversations is gathered, the events are
 * decided from it, and all is written in one statement that leaves out what came in before.
 */
interface InboundItem extends LeaseName {
  instanceId: string;
  message: InboundMessage;
}

interface GatheredRow {
  account_id: string | null;
  contact_id: string | null;
  contact_name: string | null;
  conversation_id: string | null;
  sender_name: string | null;
}

/** One message on its way in. */
interface Arrival {
  place: number;
  instanceId: string;
  messageId: string;
  message: InboundMessage;
  chat: Recipient;
  /** Null for the number itself and for forms that are nobody's. */
  sender: Recipient | null;
}

interface ResultRow {
  number: number;
  result: 'fenced' | 'gone' | 'again' | 'known' | 'written';
}

const MAX_TRIES = 20;

export class Inbound {
  readonly #groups: Batcher<InboundItem, Verdict>;

  constructor(private readonly deps: InternalDeps) {
    this.#groups = new Batcher({ run: (items) => this.#receiveAll(items), mayIsolate: isUndone });
  }

  async receive(caller: EngineCaller, request: EngineRequest<'inbound'>): Promise<void> {
    const { instanceId } = caller;
    const { epoch, holder, messages } = request;
    const verdicts = await Promise.all(
      messages.map((message) => this.#groups.submit({ instanceId, epoch, holder, message })),
    );
    const verdict = verdicts.find((one) => one !== null);
    if (verdict) throw new RefusalError(verdict);
  }

  async #receiveAll(items: readonly InboundItem[]): Promise<Verdict[]> {
    const verdicts: Verdict[] = items.map(() => null);
    let open = items.flatMap((item, index) => this.#arrivalsOf(item, index + 1));
    for (let attempt = 1; open.length > 0; attempt++) {
      if (attempt > MAX_TRIES) throw new Error('conversations keep changing while messages come in');
      const results = await this.#write(items, open);
      const again: Arrival[] = [];
      open.forEach((arrival, index) => {
        const result = results.get(index + 1);
        if (result === 'again') again.push(arrival);
        if (result === 'fenced' || result === 'gone') verdicts[arrival.place - 1] = result;
      });
      open = again;
    }
    return verdicts;
  }

  /** Chats of other kinds (broadcasts, channels) have no conversation here. */
  #arrivalsOf({ instanceId, message }: InboundItem, place: number): Arrival[] {
    const chat = parseRecipient(message.chat);
    if (!chat) {
      this.deps.log.info({ instance: instanceId, type: message.type }, 'a message of no conversation');
      return [];
    }
    const sender = message.from_me ? null : parseRecipient(message.from);
    return [{ place, instanceId, messageId: newUuid(), message, chat, sender }];
  }

  async #write(
    items: readonly InboundItem[],
    arrivals: readonly Arrival[],
  ): Promise<Map<number, ResultRow['result']>> {
    const gathered = await this.#gather(arrivals);
    const ids = new FreshIds();
    const rows = arrivals.map((arrival, index) => rowOf(arrival, gathered[index]!, index + 1, ids));
    const events = arrivals.flatMap((arrival, index) =>
      eventsOf(arrival, gathered[index]!).map((draft) =>
        eventItem(this.deps.sealer, arrival.messageId, draft),
      ),
    );
    const results = await this.deps.database.$queryRaw<ResultRow[]>`
      SELECT * FROM gwk_receive(
        ${items.map((item) => item.instanceId)}::uuid[], ${items.map((item) => item.epoch)}::integer[],
        ${items.map((item) => item.holder)}::uuid[], ${JSON.stringify(rows)}::jsonb, ${JSON.stringify(events)}::jsonb)`;
    return new Map(results.map(({ number, result }) => [number, result]));
  }

  #gather(arrivals: readonly Arrival[]): Promise<GatheredRow[]> {
    const nameOf = (one: Recipient | null, kind: Recipient['kind']): string | null =>
      one?.kind === kind ? one.name : null;
    return this.deps.database.$queryRaw<GatheredRow[]>`
      SELECT * FROM gwk_receive_gather(
        ${arrivals.map(({ instanceId }) => instanceId)}::uuid[],
        ${arrivals.map(({ chat }) => nameOf(chat, 'contact'))}::text[],
        ${arrivals.map(({ chat }) => nameOf(chat, 'group'))}::text[],
        ${arrivals.map(({ chat, sender }) => (chat.kind === 'group' ? nameOf(sender, 'contact') : null))}::text[])`;
  }
}

/** One new id for each contact and conversation that several messages of a group want made. */
class FreshIds {
  readonly #ids = new Map<string, string>();

  of(name: string): string {
    const id = this.#ids.get(name) ?? newUuid();
    this.#ids.set(name, id);
    return id;
  }
}

function rowOf(arrival: Arrival, known: GatheredRow, number: number, ids: FreshIds): Record<string, unknown> {
  const { place, instanceId, messageId, message } = arrival;
  const received = timeOfUuid(messageId);
  return {
    number,
    place,
    message_id: messageId,
    account_id: known.account_id,
    instance_id: instanceId,
    ...(arrival.chat.kind === 'group' ? groupRow : contactRow)(arrival, known, ids),
    wa_message_id: message.wa_message_id,
    from_me: message.from_me,
    at: timeOf(message, received),
    created_at: new Date(received),
    type: message.type,
  };
}

function contactRow(arrival: Arrival, known: GatheredRow, ids: FreshIds): Record<string, unknown> {
  const { instanceId, message, chat } = arrival;
  const contactId = known.contact_id ?? ids.of(`${known.account_id} ${chat.name}`);
  return {
    conversation_id: known.conversation_id ?? ids.of(`${instanceId} ${contactId}`),
    new_conversation: known.conversation_id === null,
    contact_id: contactId,
    new_contact: known.contact_id === null,
    name: chat.name,
    to: known.contact_name ?? chat.name,
    person: message.from_me ? null : message.from_name,
  };
}

function groupRow(
  { instanceId, message, chat }: Arrival,
  known: GatheredRow,
  ids: FreshIds,
): Record<string, unknown> {
  return {
    conversation_id: known.conversation_id ?? ids.of(`${instanceId} ${chat.name}`),
    new_conversation: known.conversation_id === null,
    new_contact: false,
    group_id: chat.name,
    participant: message.from,
    to: chat.name,
  };
}

/**
 * What a message gives rise to. Recognition belongs here, with the facts that it needs gathered beside the others:
 * opt-out and resume words, replies to menus.
 */
function eventsOf(arrival: Arrival, known: GatheredRow): EventDraft[] {
  const { instanceId, messageId, message, chat, sender } = arrival;
  // The row of an instance outlives it; without one there is nobody to tell.
  if (known.account_id === null) return [];
  const isGroup = chat.kind === 'group';
  const chatName = known.contact_name ?? chat.name;
  const senderName = isGroup ? (known.sender_name ?? sender?.name ?? null) : sender && chatName;
  const received = messageReceived({
    accountId: known.account_id,
    instanceId,
    messageId,
    waMessageId: message.wa_message_id,
    chat: { id: networkId(message.chat), is_group: isGroup, ...(isGroup ? {} : phoneOf(chatName)) },
    from: { id: networkId(message.from), ...phoneOf(senderName), name: message.from_name },
    fromMe: message.from_me,
    at: timeOf(message, timeOfUuid(messageId)),
    type: message.type,
    text: message.text,
    quotedWaMessageId: message.quoted_wa_message_id,
  });
  return [received];
}

/** As the network names it, without the device of the sender. */
function networkId(id: string): string {
  return networkIdOf(id).replace(/:[0-9]+@/, '@');
}

/** When it was sent, by the network's clock; never in the future. */
function timeOf(message: InboundMessage, received: number): Date {
  return new Date(Math.min(Date.parse(message.at), received));
}
