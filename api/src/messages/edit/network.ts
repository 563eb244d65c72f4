import type { OutboundEdit } from '@gwk/core/protocol/edits';
import { Problem } from '@gwk/core/problems';
import type { MessageSubject } from '../../events/emit.js';
import { readMessageSubjects } from '../../events/subjects.js';
import type { Message } from '../../generated/prisma/client.js';
import type { Services } from '../../http/services.js';
import { isHeld, ANSWER_MARGIN_MS, unavailable } from '../../instances/live/ask-engine.js';
import { newWaMessageId } from '../wa-message-id.js';

/** How long the network may take to acknowledge a change. */
const DEADLINE_MS = 8_000;
export const EDIT_MAX_WORK_MS = DEADLINE_MS + ANSWER_MARGIN_MS;

export type Change = { kind: 'edit'; text: string } | { kind: 'delete' } | { kind: 'react'; emoji: string };

/**
 * Has the engine give a change to the network, now (design: Live operations). Whoever is told `engine-unavailable` may
 * ask again: a change that is made twice is made once.
 * @returns what events say of the message
 * @throws Problem `not-found` where the instance is gone, `engine-unavailable`
 */
export async function giveToNetwork(
  services: Services,
  message: Message,
  change: Change,
): Promise<MessageSubject> {
  const instance = await services.db.instance.findFirst({
    where: { id: message.instanceId, deletedAt: null },
    include: { lease: true },
  });
  const subjects = await readMessageSubjects(services.db, [message.id]);
  const subject = subjects.get(message.id);
  if (!instance || !subject) throw new Problem('not-found');
  if (!services.live.up || !isHeld(instance.lease)) throw unavailable();
  const sent: OutboundEdit = {
    ...change,
    stanza_id: newWaMessageId(),
    message: {
      chat: subject.chat.id,
      wa_message_id: message.waMessageId!,
      from_me: message.direction === 'outbound',
      participant: message.participant,
    },
  };
  const reply = await services.live.ask(instance, change.kind, { ...sent }, DEADLINE_MS);
  if (reply?.ok) return subject;
  throw unavailable();
}
