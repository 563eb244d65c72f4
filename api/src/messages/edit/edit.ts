import { Problem, type ProblemCode } from '@gwk/core/problems';
import type { OutboundContent } from '@gwk/core/resources/message';
import type { Caller } from '../../accounts/caller.js';
import { emit, eventItem, messageEvent, type Author, type EventDraft } from '../../events/emit.js';
import type { Message } from '../../generated/prisma/client.js';
import { checkIfMatch } from '../../http/etag.js';
import type { Services } from '../../http/services.js';
import { failMessages } from '../apply-status.js';
import { openContent, sealContent } from '../content.js';
import { findMessage } from '../list.js';
import { decideDelete, decideEdit, decideReaction } from './decide.js';
import { sendEdit } from './send-edit.js';

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
  const message = await findMessage(services.db, caller, id);
  checkIfMatch(ifMatch, message.version);
  throwIfRefused(decideEdit(message, new Date()));
  const subject = await sendEdit(services, message, { kind: 'edit', text });
  const content = await replaceText(services, message, text);
  await storeEdit(services, message, {
    deleted: false,
    content,
    draft: messageEvent('message.edited', subject, new Date(), { ...BY_US, text }),
  });
  return findMessage(services.db, caller, id);
}

/** An engine may claim the message between the read and the cancellation. Then the message is read again. */
const MAX_ATTEMPTS = 5;

export async function deleteMessage({ services, caller, id }: EditRequest): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const message = await findMessage(services.db, caller, id);
    const decision = decideDelete(message);
    if (decision.do === 'refuse') throw new Problem(decision.code);
    if (decision.do === 'nothing') return;
    if (decision.do === 'delete') return deleteForAll(services, message);
    if (await cancelSend(services, id)) return;
  }
  throw new Problem('message-sending');
}

export async function reactToMessage({ services, caller, id }: EditRequest, emoji: string): Promise<void> {
  if (caller.suspended) throw new Problem('account-suspended');
  const message = await findMessage(services.db, caller, id);
  throwIfRefused(decideReaction(message));
  const subject = await sendEdit(services, message, { kind: 'react', emoji });
  const event = messageEvent('message.reaction', subject, new Date(), { ...BY_US, emoji });
  await emit(services.db, services.sealer, [event]);
}

function throwIfRefused(code: ProblemCode | null): void {
  if (code !== null) throw new Problem(code);
}

async function deleteForAll(services: Services, message: Message): Promise<void> {
  const subject = await sendEdit(services, message, { kind: 'delete' });
  const draft = messageEvent('message.deleted', subject, new Date(), BY_US);
  await storeEdit(services, message, { deleted: true, content: null, draft });
}

/** @returns false if the message was no longer queued */
async function cancelSend({ db, sealer }: Services, id: string): Promise<boolean> {
  const error = { code: 'canceled', message: null } as const;
  const isQueued = (row: { status: string }): boolean => row.status === 'queued';
  return (await failMessages({ database: db, sealer }, [id], error, isQueued)) > 0;
}

/** Later quotes use the stored content, so it gets the new text. Returns null if the content has been deleted. */
async function replaceText(
  { db, sealer }: Services,
  { id, instanceId }: Message,
  text: string,
): Promise<Buffer | null> {
  const stored = await db.messageContent.findUnique({ where: { messageId: id } });
  if (!stored) return null;
  const content = JSON.parse(openContent(sealer, instanceId, stored.contentSealed)) as OutboundContent;
  return sealContent(
    sealer,
    instanceId,
    JSON.stringify({ ...content, text: { ...content.text, body: text } }),
  );
}

interface StoredEdit {
  deleted: boolean;
  content: Buffer | null;
  draft: EventDraft;
}

/** Stores the edit and its event in one transaction. A repeated deletion emits no event. */
async function storeEdit({ db, sealer }: Services, { id }: Message, edit: StoredEdit): Promise<void> {
  const { deleted, content, draft } = edit;
  const event = JSON.stringify([eventItem(sealer, id, draft)]);
  await db.$queryRaw`
    SELECT gwk_edit_message(${id}::uuid, ${deleted}::boolean, ${content}::bytea, ${event}::jsonb)`;
}
