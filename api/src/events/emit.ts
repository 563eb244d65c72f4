import { EVENTS, type EventType } from '@gwk/core/events';
import { newUuid, toPublicId } from '@gwk/core/ids';
import { toNetworkId } from '@gwk/core/recipients';
import type { Sealer } from '@gwk/core/encryption';
import type { FailureCode } from '@gwk/core/states';
import type { Queryable } from '../database/database.js';

/**
 * Events: what they say is built here and nowhere else, sealed for the account, and written together with the
 * pending deliveries by gwk_emit, in the transaction of the change that they tell of.
 *
 * A statement that decides by itself whether a change happens (outcomes) takes drafts sealed beforehand
 * (`sealEvents`) and passes on to gwk_emit those whose change it made.
 */
export interface EventDraft {
  /** Chosen beforehand, where it has to be found again. */
  id?: string;
  accountId: string;
  instanceId: string | null;
  type: EventType;
  /** When what it tells of happened. */
  at: Date;
  data: Record<string, unknown>;
}

/** The columns that gwk_emit takes. */
export interface SealedEvent {
  id: string;
  accountId: string;
  instanceId: string | null;
  type: EventType;
  byDefault: boolean;
  at: Date;
  data: Buffer;
}

const COLUMN = 'events.data_sealed';

export function sealEvent(sealer: Sealer, draft: EventDraft): SealedEvent {
  const { accountId, instanceId, type, at } = draft;
  const data = sealEventData(sealer, accountId, draft.data);
  return {
    id: draft.id ?? newUuid(),
    accountId,
    instanceId,
    type,
    byDefault: EVENTS[type].byDefault,
    at,
    data,
  };
}

/** An event as gwk_update_messages and gwk_receive take it: written if the change of its message is made. */
export function eventItem(sealer: Sealer, messageId: string, draft: EventDraft): Record<string, unknown> {
  const event = sealEvent(sealer, draft);
  return {
    message_id: messageId,
    id: event.id,
    account_id: event.accountId,
    instance_id: event.instanceId,
    type: event.type,
    by_default: event.byDefault,
    at: event.at,
    data: event.data.toString('base64'),
  };
}

/** The data of an event, as it is kept. */
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

/** The data as it was written, character for character. */
export function openEventText(sealer: Sealer, accountId: string, sealed: Uint8Array): string {
  return sealer.open(accountId, COLUMN, sealed).toString('utf8');
}

/** Writes the events within the caller's transaction. Returns their ids. */
export async function emit(tx: Queryable, sealer: Sealer, drafts: readonly EventDraft[]): Promise<string[]> {
  if (drafts.length === 0) return [];
  const events = drafts.map((draft) => sealEvent(sealer, draft));
  await tx.$queryRaw`SELECT gwk_emit(
    ${events.map((event) => event.id)}::uuid[],
    ${events.map((event) => event.accountId)}::uuid[],
    ${events.map((event) => event.instanceId)}::uuid[],
    ${events.map((event) => event.type)}::text[],
    ${events.map((event) => event.byDefault)}::boolean[],
    ${events.map((event) => event.at.toISOString())}::timestamptz[],
    ${events.map((event) => event.data)}::bytea[])`;
  return events.map((event) => event.id);
}

// ------------------------------------------------------------------ what each says

/** `chat` of message events; `phone` is present only when it is known. */
export interface Chat {
  id: string;
  is_group: boolean;
  phone?: string;
}

/** From a conversation's group id, or from the name its contact is best known by (gwk_contact_name). */
export function chatOf(conversation: { groupId: string | null; contactName: string | null }): Chat {
  const { groupId, contactName } = conversation;
  if (groupId !== null) return { id: groupId, is_group: true };
  const name = contactName ?? '';
  return { id: toNetworkId(name), is_group: false, ...phoneOf(name) };
}

/** Of the name a contact is best known by: the phone, or nothing where only a hidden id is known. */
export function phoneOf(contactName: string | null): { phone?: string } {
  return contactName === null || contactName === '' || contactName.includes('@')
    ? {}
    : { phone: contactName };
}

/** The message that an event is about. */
export interface MessageSubject {
  accountId: string;
  instanceId: string;
  /** Null where it is none of ours. */
  messageId: string | null;
  waMessageId: string | null;
  chat: Chat;
}

/** `wa_message_id` of a message that has not left stays unsaid, as in MessageOut (spec: set from `sent`). */
function messageEvent(
  type: EventType,
  message: MessageSubject,
  at: Date,
  more: Record<string, unknown>,
): EventDraft {
  const { accountId, instanceId } = message;
  const data = {
    instance_id: toPublicId('instance', instanceId),
    ...(message.messageId !== null && { message_id: toPublicId('message', message.messageId) }),
    wa_message_id: message.waMessageId,
    chat: message.chat,
    timestamp: at.toISOString(),
    ...more,
  };
  return { accountId, instanceId, type, at, data };
}

export function messageSent(message: MessageSubject, at: Date, renderedAs: string | null): EventDraft {
  return messageEvent('message.sent', message, at, { rendered_as: renderedAs });
}

export function messageFailed(
  message: MessageSubject,
  at: Date,
  error: { code: FailureCode; message: string | null },
): EventDraft {
  return messageEvent('message.failed', { ...message, waMessageId: null }, at, { error });
}

export function messageStatusUpdated(
  message: MessageSubject,
  at: Date,
  update: { status: 'delivered' | 'read'; played: boolean },
): EventDraft {
  return messageEvent('message.status_updated', message, at, {
    status: update.status,
    ...(update.played && { played: true }),
  });
}

/** Who edited, deleted or reacted: the number itself (by API or from a device), or the contact. */
export type Author = { from_me: true } | { from_me: false; from: From };

export function messageEdited(message: MessageSubject, at: Date, author: Author, text: string): EventDraft {
  return messageEvent('message.edited', message, at, { ...author, text });
}

export function messageDeleted(message: MessageSubject, at: Date, author: Author): EventDraft {
  return messageEvent('message.deleted', message, at, { ...author });
}

/** `emoji` is empty where a reaction was taken back. */
export function messageReaction(
  message: MessageSubject,
  at: Date,
  author: Author,
  emoji: string,
): EventDraft {
  return messageEvent('message.reaction', message, at, { ...author, emoji });
}

/** Who wrote: a contact, a member of a group, or the number itself. */
export interface From {
  id: string;
  phone?: string;
  name: string | null;
}

/** What a contact chose (spec: message.interactive_reply). */
export interface Reply {
  option_id: string;
  label: string;
  source: 'native_flow' | 'button' | 'template_button' | 'list' | 'poll' | 'text';
  /** Null where the menu is none that is known here. */
  in_reply_to: string | null;
  in_reply_to_wa_message_id: string | null;
  vote_removed?: true;
}

/** A message that came in, or that was sent from a device of the number itself (which has no id of ours). */
export interface Received {
  accountId: string;
  instanceId: string;
  messageId: string;
  waMessageId: string;
  chat: Chat;
  from: From;
  fromMe: boolean;
  at: Date;
  type: string;
  text: string | null;
  quotedWaMessageId: string | null;
  /** What only some messages bring, under the names that consumers know. */
  more?: Record<string, unknown>;
  reply?: Reply;
}

export function messageReceived(message: Received): EventDraft {
  const { accountId, instanceId, at, text, quotedWaMessageId, reply } = message;
  const data = {
    instance_id: toPublicId('instance', instanceId),
    ...(!message.fromMe && { message_id: toPublicId('message', message.messageId) }),
    wa_message_id: message.waMessageId,
    chat: message.chat,
    from: message.from,
    from_me: message.fromMe,
    timestamp: at.toISOString(),
    type: message.type,
    ...(text !== null && { text }),
    ...message.more,
    ...(quotedWaMessageId !== null && { quoted_wa_message_id: quotedWaMessageId }),
    ...(reply && { reply }),
  };
  return { accountId, instanceId, type: typeOf(message), at, data };
}

function typeOf({ fromMe, reply }: Received): EventType {
  if (fromMe) return 'message.sent_from_device';
  return reply ? 'message.interactive_reply' : 'message.received';
}

/** The contact sent a word that opts out or in; `messageId`: of the message that it was. */
export function contactOpted(
  type: 'contact.opted_out' | 'contact.opted_in',
  message: { accountId: string; instanceId: string; messageId: string; at: Date },
  contact: From,
  keyword: string,
): EventDraft {
  const { accountId, instanceId, messageId, at } = message;
  const data = {
    instance_id: toPublicId('instance', instanceId),
    message_id: toPublicId('message', messageId),
    contact,
    keyword,
    timestamp: at.toISOString(),
  };
  return { accountId, instanceId, type, at, data };
}

export interface InstanceSubject {
  accountId: string;
  instanceId: string;
}

interface InstanceEventData {
  'instance.qr': { code: string; expires_in_s: number };
  'instance.paired': { jid: string; business_name: string | null; platform: string | null };
  'instance.connected': { jid: string | null };
  'instance.disconnected': { reason: string | null };
  'instance.logged_out': { reason: string | null };
  'instance.banned': { code: string | null; expires_at: string | null };
}

export function instanceEvent<T extends keyof InstanceEventData>(
  type: T,
  instance: InstanceSubject,
  at: Date,
  data: InstanceEventData[T],
): EventDraft {
  const { accountId, instanceId } = instance;
  const own = { instance_id: toPublicId('instance', instanceId), timestamp: at.toISOString() };
  return { accountId, instanceId, type, at, data: { ...own, ...data } };
}
