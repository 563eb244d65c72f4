import { proto } from '@whiskeysockets/baileys';
import type { Timer } from '@gwk/core/protocol/inbound';
import { findContext } from './context.js';
import type { Envelope } from './envelope.js';

const { EPHEMERAL_SETTING, EPHEMERAL_SYNC_RESPONSE } = proto.Message.ProtocolMessage.Type;
const MAX_SECONDS = 2 ** 31 - 1;

/** Whether the message only sets the timer of disappearing messages. */
export function isTimerNotice({ protocolMessage }: proto.IMessage): boolean {
  const type = protocolMessage?.type;
  return type === EPHEMERAL_SETTING || type === EPHEMERAL_SYNC_RESPONSE;
}

/**
 * Reads the timer of the chat from a notice or from the context of a message; null where the message states none. In a
 * group only admins may set it, so the metadata of the group counts there.
 */
export function readTimer({
  message,
  at,
  isGroup,
}: Pick<Envelope, 'at' | 'isGroup'> & { message: proto.IMessage }): Timer | null {
  if (isGroup) return null;
  if (isTimerNotice(message)) {
    const { type, ephemeralExpiration, ephemeralSettingTimestamp } = message.protocolMessage!;
    // The network's time of a change, because the clock of a phone may be wrong.
    const setAt = type === EPHEMERAL_SETTING ? null : ephemeralSettingTimestamp;
    return createTimer(ephemeralExpiration, setAt, at);
  }
  const context = findContext(message);
  const isStated = hasField(context, 'expiration') || Number(context?.ephemeralSettingTimestamp ?? 0) > 0;
  return isStated ? createTimer(context?.expiration, context?.ephemeralSettingTimestamp, at) : null;
}

/** Absent fields have a default value in the prototype. */
const hasField = (context: proto.IContextInfo | undefined, field: keyof proto.IContextInfo): boolean =>
  context !== undefined && Object.hasOwn(context, field) && context[field] !== null;

/**
 * @param statedAt seconds since 1970 by the clock of the sender's app, at most the time of the message: a later one would
 * outlast all changes until then
 */
function createTimer(
  seconds: number | null | undefined,
  statedAt: number | { toString(): string } | null | undefined,
  at: Date,
): Timer {
  const stated = Number(statedAt ?? 0) * 1_000;
  const setAt = stated > 0 ? Math.min(stated, at.getTime()) : at.getTime();
  return { seconds: Math.min(seconds ?? 0, MAX_SECONDS), set_at: new Date(setAt).toISOString() };
}
