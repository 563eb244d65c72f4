import { createHash } from 'node:crypto';
import type { EventType } from '@gwk/core/events';
import { toPublicId } from '@gwk/core/ids';
import { Problem } from '@gwk/core/problems';
import { toNetworkId, parseRecipient } from '@gwk/core/recipients';
import type { SandboxInbound, SandboxInboundOut } from '@gwk/core/resources/sandbox';
import type { Caller } from '../accounts/caller.js';
import { countSandboxMessage } from '../accounts/usage.js';
import type { Services } from '../http/services.js';
import { findInstance } from '../instances/find.js';
import { firstEventId, type Incoming } from './arrival.js';

const PHONE = /^[0-9]{8,15}$/;

/**
 * Receives a simulated message of a sandbox contact as if its engine had reported it. It works without a running engine, as the
 * network would store the message meanwhile.
 *
 * `id` is the id of the new message. A repeated request with the same id finds the first one's message.
 * @throws Problem `not-found`, `not-sandbox`, `invalid-phone`, `storage-limit-reached`
 */
export async function receiveInSandbox(
  services: Services,
  caller: Caller,
  given: { instanceId: string; id: string; body: SandboxInbound },
): Promise<SandboxInboundOut> {
  const { instanceId, id, body } = given;
  if (!PHONE.test(body.from)) throw new Problem('invalid-phone');
  const instance = await findInstance(services.db, caller, instanceId);
  if (instance.kind !== 'sandbox') throw new Problem('not-sandbox');
  const { accountId } = caller;
  await countSandboxMessage(services.db, { accountId, text: body.text, limits: services.config });
  const message = messageOf(body, id);
  const received = await services.receiver.receive({
    instanceId,
    lease: null,
    caller,
    message,
    messageId: id,
  });
  if (received === 'gone') throw new Problem('not-found');
  const eventId = firstEventId(id);
  const event = await services.db.event.findUniqueOrThrow({ where: { id: eventId }, select: { type: true } });
  return {
    message_id: toPublicId('message', id),
    wa_message_id: message.wa_message_id,
    event_id: toPublicId('event', eventId),
    event_type: event.type as EventType,
  };
}

function messageOf(
  { from, text, reply, quoted_wa_message_id: quoted }: SandboxInbound,
  id: string,
): Incoming {
  const who = toNetworkId(parseRecipient(from)!.name);
  const message: Incoming = {
    wa_message_id: networkMessageId(id),
    chat: who,
    from: who,
    from_name: null,
    from_me: false,
    at: new Date().toISOString(),
    type: 'text',
    text,
    quoted_wa_message_id: quoted ?? null,
  };
  if (!reply) return message;
  const { option_id, source } = reply;
  const label = reply.label ?? null;
  const target = reply.in_reply_to_wa_message_id ?? null;
  if (source === 'poll')
    return { ...message, type: 'poll', tap: { option_id, label, poll_wa_message_id: target } };
  const click = { option_id, label, source, in_reply_to_wa_message_id: target };
  return { ...message, type: 'interactive', click };
}

/** Makes a network id in the format of phones. */
function networkMessageId(id: string): string {
  return `3A${createHash('sha256').update(id).digest('hex').slice(0, 18).toUpperCase()}`;
}
