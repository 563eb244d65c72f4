import { createHash } from 'node:crypto';
import type { EventType } from '@gwk/core/events';
import { toPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { toNetworkId, parseRecipient } from '@gwk/core/ids/recipients';
import type { Notice, NoticePerson } from '@gwk/core/protocol/notices';
import type { SandboxInbound, SandboxInboundOut } from '../resources/sandbox.js';
import type { Caller } from '../accounts/caller.js';
import { countSandboxMessage } from '../accounts/usage.js';
import type { Services } from '../http/services.js';
import { findInstance } from '../accounts/find-instance.js';
import { firstEventId } from '../events/event-ids.js';
import type { Incoming } from './arrival.js';
import { readRule } from './notices/answer-calls.js';
import { recordNotices } from './notices/record.js';

const PERSON = /^([0-9]{8,15}|[0-9]{5,20}@lid)$/;

/**
 * Receives a simulated message or call of a sandbox contact, or a change of a group, as if its engine had reported it. It works without a running engine, as the
 * network would store the message meanwhile.
 *
 * `id` is the id of the new message. A repeated request with the same id finds the first one's message.
 * @throws Problem `not-found`, `not-sandbox`, `invalid-phone`, `validation-error`, `storage-limit-reached`
 */
export async function receiveInSandbox(
  services: Services,
  caller: Caller,
  given: { instanceId: string; id: string; body: SandboxInbound },
): Promise<SandboxInboundOut> {
  const { instanceId, id, body } = given;
  checkBody(body);
  const instance = await findInstance(services.db, caller, instanceId);
  if (instance.kind !== 'sandbox') throw new Problem('not-sandbox');
  const { text, ...rest } = body;
  if (rest.call || rest.group_update) return reportInSandbox(services, caller, given);
  await countSandboxMessage(services.db, {
    accountId: caller.accountId,
    text: text!,
    limits: services.config,
  });
  const message = messageOf({ ...rest, text: text! }, id);
  const received = await services.receiver.receive({
    instanceId,
    lease: null,
    caller,
    message,
    messageId: id,
  });
  if (received === 'gone') throw new Problem('not-found');
  return {
    message_id: toPublicId('message', id),
    wa_message_id: message.wa_message_id,
    ...(await describeEvent(services, firstEventId(id))),
  };
}

async function describeEvent({ db }: Services, eventId: string) {
  const { type } = await db.event.findUniqueOrThrow({ where: { id: eventId }, select: { type: true } });
  return { event_id: toPublicId('event', eventId), event_type: type as EventType };
}

type GroupUpdate = NonNullable<SandboxInbound['group_update']>;

const KINDS = ['text', 'call', 'group_update'] as const;
const LISTS = ['joined', 'left', 'promoted', 'demoted'] as const;

/** @throws Problem `invalid-phone`, `validation-error` */
function checkBody(body: SandboxInbound): void {
  const { from, group_update: change } = body;
  const people = [from, ...LISTS.flatMap((list) => change?.[list] ?? [])];
  if (!people.every((person) => PERSON.test(person))) throw new Problem('invalid-phone');
  if (KINDS.filter((kind) => (body[kind] ?? null) !== null).length !== 1)
    throw invalid('text', 'exactly one of text, call and group_update is required');
  if (!body.text && (body.reply || body.quoted_wa_message_id))
    throw invalid('text', 'a reply and a quote need a text');
  if (change && !hasChange(change)) throw invalid('group_update', 'at least one change is required');
}

/** A list has members; any other change may be null, for example a removed description. */
function hasChange({ chat: _, joined, left, promoted, demoted, ...changes }: GroupUpdate): boolean {
  if ([joined, left, promoted, demoted].some((list) => list?.length)) return true;
  return Object.values(changes).some((value) => value !== undefined);
}

const invalid = (path: string, message: string): Problem =>
  new Problem('validation-error', { errors: [{ path, code: 'required', message }] });

/** A simulated call obeys the policy `reject_calls`, its text included. */
async function reportInSandbox(
  services: Services,
  { accountId }: Caller,
  { instanceId, id, body }: { instanceId: string; id: string; body: SandboxInbound },
): Promise<SandboxInboundOut> {
  const deps = { ...services, database: services.db };
  const { enabled } = await readRule(deps, instanceId);
  const notice = noticeOf(body, id, enabled);
  await countSandboxMessage(services.db, {
    accountId,
    text: JSON.stringify(notice),
    limits: services.config,
  });
  const eventId = firstEventId(id);
  await recordNotices(deps, { instanceId }, { notices: [notice], lease: null, eventId });
  return { message_id: null, wa_message_id: null, ...(await describeEvent(services, eventId)) };
}

const toJid = (person: string): string => toNetworkId(parseRecipient(person)!.name);
const toPerson = (person: string): NoticePerson => ({ id: toJid(person), alt: null, name: null });
const readUsername = ({ username }: Pick<SandboxInbound, 'username'>) => (username ? { username } : {});

function noticeOf(body: SandboxInbound, id: string, rejects: boolean): Notice {
  const { from, call, group_update: change } = body;
  const about = { id, at: new Date().toISOString(), from: { ...toPerson(from), ...readUsername(body) } };
  if (!change) {
    const { video, missed: isMissed, chat = null } = call!;
    const missed = isMissed === true;
    const kind = { video: video === true, group: chat !== null, chat, missed };
    return { kind: 'call', ...about, ...kind, rejected: rejects && !missed };
  }
  const { chat, joined, left, promoted, demoted, ...changes } = change;
  const lists = Object.entries({ joined, left, promoted, demoted }).flatMap(([list, members]) =>
    members ? [[list, members.map(toPerson)] as const] : [],
  );
  return { kind: 'group', ...about, chat, from_me: false, ...Object.fromEntries(lists), ...changes };
}

type InboundText = Omit<SandboxInbound, 'text' | 'call' | 'group_update'> & { text: string };

function messageOf(given: InboundText, id: string): Incoming {
  const { from, text, reply, quoted_wa_message_id: quoted } = given;
  const who = toJid(from);
  const message: Incoming = {
    wa_message_id: networkMessageId(id),
    chat: who,
    from: who,
    from_name: null,
    ...readUsername(given),
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
