import type { FailureCode, MessageStatus, Rendering } from '@gwk/core/states';

/** Result of a format check. `void`: the check says nothing about the format and is deleted. */
export type CheckResult = 'pending' | 'ok' | 'failed' | 'void';

interface CheckCase {
  format: Rendering;
  ageMs: number;
  /** Null: the message has been deleted. */
  message: { status: MessageStatus; errorCode: FailureCode | null; renderedAs: string | null } | null;
}

/** The network delivers to an online phone within seconds. */
const DELIVERY_TIMEOUT_MS = 15 * 60_000;
/** If the message is unsent after this time, its instance is offline. That says nothing about the format. */
const SEND_TIMEOUT_MS = 60 * 60_000;
/** Failures that say nothing about the format. */
const NEUTRAL: readonly FailureCode[] = ['not_connected', 'not_paired', 'expired', 'canceled', 'opted_out'];

/** Decides a check by the state of its message. Pure. */
export function decideCheck({ format, ageMs, message }: CheckCase): CheckResult {
  if (message === null) return 'void';
  switch (message.status) {
    case 'delivered':
    case 'read':
      return message.renderedAs === format ? 'ok' : 'failed';
    case 'failed':
      return message.errorCode !== null && NEUTRAL.includes(message.errorCode) ? 'void' : 'failed';
    case 'sent':
      return ageMs > DELIVERY_TIMEOUT_MS ? 'failed' : 'pending';
    default:
      return ageMs > SEND_TIMEOUT_MS ? 'void' : 'pending';
  }
}
