import { EVENTS, type EventType } from '@gwk/core/events';
import { fromPublicId, newUuid, parseUuidTime, toPublicId } from '@gwk/core/ids/ids';
import { canonicalPhone, isGroupId, parseRecipient, toAddress, toNetworkId } from '@gwk/core/ids/recipients';
import type { ContactIds, EventChat, EventData, EventPerson } from '@gwk/core/resources/event-data';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { Queryable } from '../database/database.js';
import type { Message } from '../generated/prisma/client.js';

/** An event before its data is encrypted for the account. */
export interface EventDraft {
  /** Id chosen by the caller (default: a new one). */
  id?: string;
  accountId: string;
  instanceId: string | null;
  type: EventType;
  data: Record<string, unknown>;
  /** The conversation of the message that the event is about. */
  conversationId?: string | null;
}

const COLUMN = 'events.data_sealed';

/**
 * Encrypts an event as an item of gwk_emit.
 * @param messageId for statements that themselves decide whether a message changes (gwk_update_messages, gwk_receive)
 */
export function eventItem(sealer: Sealer, messageId: string | null, draft: EventDraft) {
  const { id = newUuid(), accountId, instanceId, type, data, conversationId = null } = draft;
  return {
    message_id: messageId,
    subject: readSubject(data),
    conversation_id: conversationId,
    id,
    account_id: accountId,
    instance_id: instanceId,
    type,
    by_default: EVENTS[type].byDefault,
    // Lists are in the order of ids, and `since` compares them. The time of the change is in the data.
    at: new Date(parseUuidTime(id)),
    data: sealEventData(sealer, accountId, data).toString('base64'),
  };
}

/** The message that an event is about, by which the console finds its deliveries. */
const readSubject = ({ message_id: id }: Record<string, unknown>): string | null =>
  typeof id === 'string' ? fromPublicId('message', id) : null;

/** Encrypts the data of an event. */
export function sealEventData(sealer: Sealer, accountId: string, data: Record<string, unknown>): Buffer {
  return sealer.sealJson(accountId, COLUMN, data);
}

export function openEventData(
  sealer: Sealer,
  accountId: string,
  sealed: Uint8Array,
): Record<string, unknown> {
  return sealer.openJson(accountId, COLUMN, sealed) as Record<string, unknown>;
}

/** Removes the pairing code from the data of `instance.qr`. */
export function removeCode({ code: _code, ...rest }: Record<string, unknown>): Record<string, unknown> {
  return rest;
}

/** Decrypts the data of an event, with its exact text. */
export function openEventText(sealer: Sealer, accountId: string, sealed: Uint8Array): string {
  return sealer.open(accountId, COLUMN, sealed).toString('utf8');
}

/** Writes events and their pending deliveries in the caller's transaction, and returns the ids of the events. */
export async function emit(tx: Queryable, sealer: Sealer, drafts: readonly EventDraft[]): Promise<string[]> {
  if (drafts.length === 0) return [];
  const items = drafts.map((draft) => eventItem(sealer, null, draft));
  await tx.$queryRaw`SELECT gwk_emit(${JSON.stringify(items)}::jsonb, '{}')::text`;
  return items.map(({ id }) => id);
}

// ------------------------------------------------------------------ builders

/** The ids of a contact that its conversation stores: of this instance's own engine. */
export interface ConversationNames {
  lid: string | null;
  phone: string | null;
}

export interface ContactNames extends ConversationNames {
  username: string | null;
}

/** The contact or the group of a conversation. */
export interface ConversationSubject extends ContactNames {
  groupId: string | null;
}

/**
 * Builds the chat of a message. A conversation has one id in all events: the LID if the instance knows it for the recipient,
 * else the recipient itself.
 */
export function buildChat(message: { to: string } & ConversationSubject): EventChat {
  const { to, groupId, username } = message;
  if (groupId !== null) return { id: groupId, is_group: isGroupId(groupId) };
  const { id, ...phone } = identify(to, message);
  return { id, is_group: false, ...phone, username };
}

/** Returns the id and the phone number of a contact that is addressed by `to`. */
export function identify(to: string, { lid, phone }: ConversationNames): { id: string; phone?: string } {
  const recipient = parseRecipient(to);
  if (!recipient) return { id: toNetworkId(to) };
  const isKnown =
    recipient.phone === null
      ? lid === recipient.name
      : phone !== null && canonicalPhone(phone) === recipient.name;
  if (isKnown && lid !== null) return { id: lid, ...(phone !== null && { phone }) };
  return { id: toAddress(recipient), ...(recipient.phone !== null && { phone: recipient.phone }) };
}

/** The ids of a contact in the events of an instance (gwk_contact_ids). */
export const buildContactIds = ({ lid, phone, username }: ContactNames): ContactIds => ({
  ...identify(lid ?? phone!, { lid, phone }),
  username,
});

/** Message of an event. */
export interface MessageSubject {
  accountId: string;
  instanceId: string;
  /** Id of the message in gwk; null: gwk has no such message. */
  messageId: string | null;
  waMessageId: string | null;
  chat: EventChat;
  conversationId?: string;
}

/** @param row a message with the names of its conversation */
export function toMessageSubject(
  row: Pick<Message, 'id' | 'accountId' | 'instanceId' | 'waMessageId' | 'conversationId'> &
    Parameters<typeof buildChat>[0],
): MessageSubject {
  const { id: messageId, accountId, instanceId, waMessageId, conversationId } = row;
  return { accountId, instanceId, messageId, waMessageId, conversationId, chat: buildChat(row) };
}

/** Author of an edit, deletion or reaction: the instance's own account (API or device) or the contact. */
export type Author = { from_me: true } | { from_me: false; from: EventPerson };

type DeletedData = EventData<'message.deleted'>;
type ReceivedType = 'message.received' | 'message.sent_from_device' | 'message.interactive_reply';
/** The fields of an event that are not those of every event about a message. */
type MessageEventType = Exclude<Extract<EventType, `message.${string}`>, ReceivedType>;
type MessageEventData<T extends EventType> = Omit<EventData<T>, keyof DeletedData> &
  (EventData<T> extends DeletedData ? Author : unknown);

export function messageEvent<T extends MessageEventType>(
  type: T,
  message: MessageSubject,
  at: Date,
  more: MessageEventData<T>,
): EventDraft {
  const { accountId, instanceId, conversationId = null } = message;
  const data = {
    instance_id: toPublicId('instance', instanceId),
    ...(message.messageId !== null && { message_id: toPublicId('message', message.messageId) }),
    wa_message_id: message.waMessageId,
    chat: message.chat,
    timestamp: at.toISOString(),
    ...more,
  };
  return { accountId, instanceId, type, data, conversationId };
}

export interface InstanceSubject {
  accountId: string;
  instanceId: string;
}

/** `contact.updated` is of an instance whose own engine has seen the change. */
type InstanceEventType = Extract<EventType, `instance.${string}` | 'contact.updated'>;

export function instanceEvent<T extends InstanceEventType>(
  type: T,
  instance: InstanceSubject,
  at: Date,
  data: Omit<EventData<T>, 'instance_id' | 'timestamp'>,
): EventDraft {
  const { accountId, instanceId } = instance;
  const own = { instance_id: toPublicId('instance', instanceId), timestamp: at.toISOString() };
  return { accountId, instanceId, type, data: { ...own, ...data } };
}
