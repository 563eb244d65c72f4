import type { Sealer } from '@gwk/core/crypto/encryption';
import { EDIT_FAILURES, type OutboundEdit, type TextEdit } from '@gwk/core/protocol/commands';
import { Problem, type ProblemCode } from '@gwk/core/problems/problems';
import type { OutboundContent } from '@gwk/core/resources/message';
import type { Caller } from '../../accounts/caller.js';
import {
  emit,
  messageEvent,
  toMessageSubject,
  type Author,
  type ConversationSubject,
  type EventDraft,
  type MessageSubject,
} from '../../events/emit.js';
import type { Message, Prisma } from '../../generated/prisma/client.js';
import { checkIfMatch } from '../../http/etag.js';
import type { Services } from '../../http/services.js';
import { ANSWER_MARGIN_MS, isHeld, unavailable } from '../../engine-commands/ask-engine.js';
import { refuseFormerMessages } from '../../instances/state/former-account.js';
import { failMessages } from '../../message-status/apply-status.js';
import { openContent, sealContent } from '../content.js';
import { findMessage } from '../list.js';
import { readQuotes } from '../quotes.js';
import { decideDelete, decideEdit, decideReaction, NOT_EDITABLE } from './decide.js';
import { newWaMessageId } from '../wa-message-id.js';

/** An edit, deletion or reaction by the API. */
interface EditRequest {
  services: Services;
  caller: Caller;
  /** UUID of the message. */
  id: string;
}

const BY_US: Author = { from_me: true };

/**
 * Sends the edit to the network, then stores it with its event. If the process ends in between, the edit has no event
 * until the client repeats the request.
 */
export async function editMessage(
  { services, caller, id }: EditRequest,
  text: string,
  ifMatch: string | undefined,
): Promise<Message> {
  if (caller.suspended) throw new Problem('account-suspended');
  const message = await findCurrent(services, caller, id);
  checkIfMatch(ifMatch, message.version);
  if (message.direction !== 'outbound') throw new Problem('not-editable', { detail: NOT_EDITABLE.edit });
  throwIfRefused(decideEdit(message, new Date()));
  const edit: TextEdit = { kind: 'edit', text, ...(await readReferences(services, message)) };
  const subject = await sendEdit(services, message, edit);
  const event = messageEvent('message.edited', subject, new Date(), { ...BY_US, text });
  await storeEdit(services, id, event, async (tx, eventId) => {
    const isStored = await replaceText(tx, services.sealer, message, text);
    await tx.message.update({ where: { id }, data: { editEventId: isStored ? null : eventId } });
  });
  return findMessage(services.db, caller, id);
}

/** An engine may claim the message between the read and the cancellation. Then the message is read again. */
const MAX_ATTEMPTS = 5;

export async function deleteMessage({ services, caller, id }: EditRequest): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const message = await findCurrent(services, caller, id);
    const decision = decideDelete(message, new Date());
    if (decision === 'nothing') return;
    if (decision === 'delete') return deleteForAll(services, message);
    if (decision !== 'cancel') {
      const { refuse, ...extras } = decision;
      throw new Problem(refuse, extras);
    }
    if (await cancelSend(services, id)) return;
  }
  throw new Problem('message-sending');
}

export async function reactToMessage({ services, caller, id }: EditRequest, emoji: string): Promise<void> {
  if (caller.suspended) throw new Problem('account-suspended');
  const message = await findCurrent(services, caller, id);
  throwIfRefused(decideReaction(message));
  const subject = await sendEdit(services, message, { kind: 'react', emoji });
  const event = messageEvent('message.reaction', subject, new Date(), { ...BY_US, emoji });
  await emit(services.db, services.sealer, [event]);
}

/** @throws Problem `not-found`, `message-of-former-account` */
async function findCurrent({ db }: Services, caller: Caller, id: string): Promise<Message> {
  const message = await findMessage(db, caller, id);
  await refuseFormerMessages(db, message.instanceId, [id]);
  return message;
}

function throwIfRefused(code: ProblemCode | null): void {
  if (code !== null) throw new Problem(code);
}

/** A deleted message loses its content and accepts no replies. */
async function deleteForAll(services: Services, message: Message): Promise<void> {
  const subject = await sendEdit(services, message, { kind: 'delete' });
  const event = messageEvent('message.deleted', subject, new Date(), BY_US);
  await storeEdit(services, message.id, event, async (tx) => {
    const where = { messageId: message.id };
    await tx.message.update({ where: { id: message.id }, data: { deletedForAll: true } });
    await tx.messageContent.deleteMany({ where });
    await tx.messageCard.deleteMany({ where });
    await tx.menu.deleteMany({ where });
  });
}

/** @returns false if the message was no longer queued */
async function cancelSend({ db, sealer }: Services, id: string): Promise<boolean> {
  const error = { code: 'canceled', message: null } as const;
  const isQueued = (row: { status: string }): boolean => row.status === 'queued';
  return (await failMessages({ database: db, sealer }, [id], error, isQueued)) > 0;
}

/** An edit replaces the whole message on the network, so it repeats the quote and the mentions. */
async function readReferences(
  { db, sealer }: Services,
  { id: messageId, instanceId }: Message,
): Promise<Pick<TextEdit, 'quoted' | 'mentions'>> {
  const stored = await db.messageContent.findUnique({ where: { messageId } });
  if (!stored) return {};
  const content = JSON.parse(openContent(sealer, instanceId, stored.contentSealed)) as OutboundContent;
  const { reply_to: id, mentions } = content;
  const found = id ? (await readQuotes({ database: db, sealer }, [id])).get(id) : undefined;
  return {
    ...(found && { quoted: found.quote }),
    ...(mentions && { mentions }),
  };
}

/**
 * Later quotes use the stored content, so it gets the new text.
 * @returns false if there is none: it was deleted, or a person wrote the message on the phone
 */
async function replaceText(
  tx: Prisma.TransactionClient,
  sealer: Sealer,
  { id: messageId, instanceId }: Message,
  text: string,
): Promise<boolean> {
  const stored = await tx.messageContent.findUnique({ where: { messageId } });
  if (!stored) return false;
  const content = JSON.parse(openContent(sealer, instanceId, stored.contentSealed)) as OutboundContent;
  const edited = JSON.stringify({ ...content, text: { ...content.text, body: text } });
  const contentSealed = new Uint8Array(sealContent(sealer, instanceId, edited));
  await tx.messageContent.updateMany({ where: { messageId }, data: { contentSealed } });
  return true;
}

/** Stores an edit or deletion with its event in one transaction. After a deletion, another one has no effect. */
async function storeEdit(
  { db, sealer }: Services,
  id: string,
  event: EventDraft,
  change: (tx: Prisma.TransactionClient, eventId: string) => Promise<void>,
): Promise<void> {
  await db.$transaction(async (tx) => {
    // If this process stops in the middle, Postgres ends the transaction: outcomes wait for the lock of the message.
    await tx.$queryRaw`SELECT set_config('idle_in_transaction_session_timeout', '5000', true)`;
    const { count } = await tx.message.updateMany({
      where: { id, deletedForAll: false },
      data: { version: { increment: 1 }, updatedAt: new Date() },
    });
    if (count === 0) return;
    const [eventId] = await emit(tx, sealer, [event]);
    await change(tx, eventId!);
  });
}

/** Time for the network to acknowledge an edit. */
const DEADLINE_MS = 8_000;
export const EDIT_TIMEOUT_MS = DEADLINE_MS + ANSWER_MARGIN_MS;

type Edit = TextEdit | { kind: 'delete' } | { kind: 'react'; emoji: string };

/**
 * Has the engine send an edit to the network and waits for the acknowledgement. Edits are idempotent, so a client may
 * retry after `engine-unavailable`.
 * @returns the subject of the event
 * @throws Problem `not-found` if the instance has been deleted, `engine-unavailable`
 */
async function sendEdit(services: Services, message: Message, edit: Edit): Promise<MessageSubject> {
  const instance = await services.db.instance.findFirst({
    where: { id: message.instanceId, deletedAt: null },
    include: { lease: true },
  });
  const [names] = await services.db.$queryRaw<ConversationSubject[]>`
    SELECT group_id AS "groupId", lid, phone, username FROM conversations WHERE id = ${message.conversationId}::uuid`;
  if (!instance || !names) throw new Problem('not-found');
  const subject = toMessageSubject({ ...message, ...names });
  if (!services.live.up || !isHeld(instance.lease)) throw unavailable();
  const sent: OutboundEdit = {
    ...edit,
    stanza_id: newWaMessageId(),
    message: {
      chat: subject.chat.id,
      wa_message_id: message.waMessageId!,
      from_me: message.direction === 'outbound',
      participant: message.participant,
    },
  };
  const reply = await services.live.ask(instance, edit.kind, { ...sent }, DEADLINE_MS);
  if (reply?.ok) return subject;
  const isNotAdmin = reply?.code === EDIT_FAILURES.notAdmin;
  throw isNotAdmin ? new Problem('not-editable', { detail: NOT_EDITABLE.notAdmin }) : unavailable();
}
