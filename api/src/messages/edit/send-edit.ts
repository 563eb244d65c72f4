import type { OutboundEdit } from '@gwk/core/protocol/commands';
import { Problem } from '@gwk/core/problems';
import { toMessageSubject, type MessageSubject } from '../../events/emit.js';
import type { Message } from '../../generated/prisma/client.js';
import type { Services } from '../../http/services.js';
import { isHeld, ANSWER_MARGIN_MS, unavailable } from '../../instances/live/ask-engine.js';
import { newWaMessageId } from '../wa-message-id.js';

/** Time for the network to acknowledge an edit. */
const DEADLINE_MS = 8_000;
export const EDIT_TIMEOUT_MS = DEADLINE_MS + ANSWER_MARGIN_MS;

type Edit = { kind: 'edit'; text: string } | { kind: 'delete' } | { kind: 'react'; emoji: string };

/**
 * Has the engine send an edit to the network and waits for the acknowledgement. Edits are idempotent, so a client may
 * retry after `engine-unavailable`.
 * @returns the subject of the event
 * @throws Problem `not-found` if the instance has been deleted, `engine-unavailable`
 */
export async function sendEdit(services: Services, message: Message, edit: Edit): Promise<MessageSubject> {
  const instance = await services.db.instance.findFirst({
    where: { id: message.instanceId, deletedAt: null },
    include: { lease: true },
  });
  const [names] = await services.db.$queryRaw<{ groupId: string | null; contactName: string | null }[]>`
    SELECT group_id AS "groupId", gwk_contact_name(contact_id) AS "contactName"
    FROM conversations WHERE id = ${message.conversationId}::uuid`;
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
  throw unavailable();
}
