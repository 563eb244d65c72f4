import { Problem } from '@gwk/core/problems';
import type { OutboundContent } from '@gwk/core/resources/message';
import type { Caller } from '../../accounts/caller.js';
import {
  emit,
  eventItem,
  messageDeleted,
  messageEdited,
  messageReaction,
  type Author,
  type EventDraft,
} from '../../events/emit.js';
import type { Message } from '../../generated/prisma/client.js';
import { checkIfMatch } from '../../http/etag.js';
import type { Services } from '../../http/services.js';
import { failMessages } from '../apply-status.js';
import { openContent, sealContent } from '../content.js';
import { findMessage } from '../list.js';
import { judgeDelete, judgeEdit, judgeReaction } from './decide.js';
import { giveToNetwork } from './network.js';

/**
 * Edits, deletions and reactions by API: judged, given to the network, then recorded with their event. A request that
 * dies between the last two leaves a change without its event; whoever repeats it, as a 503 or a lost answer asks
 * for, makes up for it.
 */
export interface Altering {
  services: Services;
  caller: Caller;
  id: string;
}

const BY_US: Author = { from_me: true };

export async function editMessage(
  { services, caller, id }: Altering,
  text: string,
  ifMatch: string | undefined,
): Promise<Message> {
  if (caller.suspended) throw new Problem('account-suspended');
  const message = await findMessage(services.db, caller, id);
  checkIfMatch(ifMatch, message.version);
  refuse(judgeEdit(message, new Date()));
  const subject = await giveToNetwork(services, message, { kind: 'edit', text });
  const content = await editedContent(services, message, text);
  await record(services, message, {
    deleted: false,
    content,
    draft: messageEdited(subject, new Date(), BY_US, text),
  });
  return findMessage(services.db, caller, id);
}

/** A claim may come between the look and the cancellation: then it is looked at again. */
const MAX_LOOKS = 5;

export async function deleteMessage({ services, caller, id }: Altering): Promise<void> {
  for (let look = 0; look < MAX_LOOKS; look++) {
    const message = await findMessage(services.db, caller, id);
    const verdict = judgeDelete(message);
    if (verdict.do === 'refuse') throw new Problem(verdict.code);
    if (verdict.do === 'nothing') return;
    if (verdict.do === 'delete') return deleteForAll(services, message);
    if (await cancel(services, id)) return;
  }
  throw new Problem('message-sending');
}

export async function reactToMessage({ services, caller, id }: Altering, emoji: string): Promise<void> {
  if (caller.suspended) throw new Problem('account-suspended');
  const message = await findMessage(services.db, caller, id);
  refuse(judgeReaction(message));
  const subject = await giveToNetwork(services, message, { kind: 'react', emoji });
  await emit(services.db, services.sealer, [messageReaction(subject, new Date(), BY_US, emoji)]);
}

function refuse(code: ReturnType<typeof judgeEdit>): void {
  if (code !== null) throw new Problem(code);
}

async function deleteForAll(services: Services, message: Message): Promise<void> {
  const subject = await giveToNetwork(services, message, { kind: 'delete' });
  const draft = messageDeleted(subject, new Date(), BY_US);
  await record(services, message, { deleted: true, content: null, draft });
}

/** Whether it still waited, unclaimed. */
async function cancel({ db, sealer }: Services, id: string): Promise<boolean> {
  const error = { code: 'canceled', message: null } as const;
  const isQueued = (row: { status: string }): boolean => row.status === 'queued';
  return (await failMessages({ database: db, sealer }, [id], error, isQueued)) > 0;
}

/** What quotes are made of says the new text; null where the content is gone. */
async function editedContent(
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

interface Recording {
  deleted: boolean;
  content: Buffer | null;
  draft: EventDraft;
}

/** The change and its event in one transaction; a second deletion tells nothing. */
async function record({ db, sealer }: Services, { id }: Message, recording: Recording): Promise<void> {
  const { deleted, content, draft } = recording;
  const event = JSON.stringify([eventItem(sealer, id, draft)]);
  await db.$queryRaw`
    SELECT gwk_edit_message(${id}::uuid, ${deleted}::boolean, ${content}::bytea, ${event}::jsonb)`;
}
