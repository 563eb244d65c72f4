import type { FailureCode, MessageStatus, Rendering } from '@gwk/core/states';

/** What a check of a format has come to, by its message. Pure. */
export type Verdict = 'pending' | 'ok' | 'failed' | 'void';

export interface CheckCase {
  format: Rendering;
  ageMs: number;
  /** Null: the message is gone. */
  message: { status: MessageStatus; errorCode: FailureCode | null; renderedAs: string | null } | null;
}

/** The network reaches a phone that is on within seconds. */
const DELIVERED_WITHIN_MS = 15 * 60_000;
/** A message that has not left by then says that its instance is out, not that the format fails. */
const LEFT_WITHIN_MS = 60 * 60_000;
/** Failures that say nothing of a format. */
const NEUTRAL: readonly FailureCode[] = ['not_connected', 'not_paired', 'expired', 'canceled', 'opted_out'];

/** `void`: the check tells nothing, and is forgotten. */
export function decideCheck({ format, ageMs, message }: CheckCase): Verdict {
  if (message === null) return 'void';
  switch (message.status) {
    case 'delivered':
    case 'read':
      return message.renderedAs === format ? 'ok' : 'failed';
    case 'failed':
      return message.errorCode !== null && NEUTRAL.includes(message.errorCode) ? 'void' : 'failed';
    case 'sent':
      return ageMs > DELIVERED_WITHIN_MS ? 'failed' : 'pending';
    default:
      return ageMs > LEFT_WITHIN_MS ? 'void' : 'pending';
  }
}
