import { EVENTS, type EventType } from '@gwk/core/events';
import { newUuid, toPublicId } from '@gwk/core/ids';
import { toNetworkId } from '@gwk/core/recipients';
import type { ReceiptFields } from '@gwk/core/resources/message';
import type { Sealer } from '@gwk/core/encryption';
import type { FailureCode } from '@gwk/core/states';
import type { Queryable } from '../database/database.js';
import type { Message } from '../generated/prisma/client.js';

/** An event before its data is encrypted for the account. */
export interface EventDraft {
  /** Id chosen by the caller (default: a new one). */
  id?: string;
  accountId: string;
  instanceId: string | null;
  type: EventType;
  /** Time of the change. */
  at: Date;
  data: Record<string, unknown>;
}

const COLUMN = 'events.data_sealed';

/**
 * Encrypts an event as an item of gwk_emit.
 * @param messageId for statements that themselves decide whether a message changes (gwk_update_messages, gwk_receive)
 */
export function eventItem(sealer: Sealer, messageId: string | null, draft: EventDraft) {
  const { id = newUuid(), accountId, instanceId, type, at, data } = draft;
  return {
    message_id: messageId,
    id,
    account_id: accountId,
    instance_id: instanceId,
    type,
    by_default: EVENTS[type].byDefault,
    at,
    data: sealEventData(sealer, accountId, data).toString('base64'),
  };
}

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

/** `chat` of message events; `phone` is present if known. */
export interface Chat {
  id: string;
  is_group: boolean;
  phone?: string;
}

/** Builds the chat from the group id, or from the preferred name of the contact (gwk_contact_name). */
export function buildChat(conversation: { groupId: string | null; contactName: string | null }): Chat {
  const { groupId, contactName } = conversation;
  if (groupId !== null) return { id: groupId, is_group: true };
  const name = contactName ?? '';
  return { id: toNetworkId(name), is_group: false, ...buildPhone(name) };
}

/** Returns the phone number of a contact's preferred name; undefined if only a LID is known. */
export function buildPhone(contactName: string | null): { phone?: string } {
  return contactName === null || contactName === '' || contactName.includes('@')
    ? {}
    : { phone: contactName };
}

/** Message of an event. */
export interface MessageSubject {
  accountId: string;
  instanceId: string;
  /** Id of the message in gwk; null: gwk has no such message. */
  messageId: string | null;
  waMessageId: string | null;
  chat: Chat;
}

/** @param row a message with the names of its conversation */
export function toMessageSubject(
  row: Pick<Message, 'id' | 'accountId' | 'instanceId' | 'waMessageId'> & Parameters<typeof buildChat>[0],
): MessageSubject {
  const { id: messageId, accountId, instanceId, waMessageId } = row;
  return { accountId, instanceId, messageId, waMessageId, chat: buildChat(row) };
}

/** Author of an edit, deletion or reaction: the instance's own account (API or device) or the contact. */
export type Author = { from_me: true } | { from_me: false; from: From };

interface MessageEventData {
  'message.sent': { rendered_as: string | null };
  'message.failed': { error: { code: FailureCode; message: string | null } };
  'message.status_updated': ReceiptFields;
  'message.edited': Author & { text: string };
  'message.deleted': Author;
  /** `emoji` is empty if the reaction was removed. */
  'message.reaction': Author & { emoji: string };
}

export function messageEvent<T extends keyof MessageEventData>(
  type: T,
  message: MessageSubject,
  at: Date,
  more: MessageEventData[T],
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

/** Author of a message: a contact, a group member, or the instance's own account. */
export interface From {
  id: string;
  phone?: string;
  name: string | null;
}

/** Choice of a contact (message.interactive_reply). */
export interface Reply {
  option_id: string;
  label: string;
  source: 'native_flow' | 'button' | 'template_button' | 'list' | 'poll' | 'text';
  /** Null: the menu is unknown. */
  in_reply_to: string | null;
  in_reply_to_wa_message_id: string | null;
  vote_removed?: true;
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
