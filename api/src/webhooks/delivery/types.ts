import type { DisableReason } from '@gwk/core/resources/webhook';
import type { DestinationHealth } from './schedule.js';

/**
 * What passes between the steps of a delivery: claim -> prepare -> call -> conclude. Each step takes what the one
 * before it returned and nothing else.
 */
export interface Claimed extends DestinationHealth {
  deliveryId: string;
  /** The name of the claim: results count only while the entry is still locked by it. */
  lock: string;
  endpointId: string;
  accountId: string;
  eventId: string;
  earlierAttempts: number;
  url: string;
  enabled: boolean;
  /** Null: the event is gone. */
  event: { type: string; at: Date; dataSealed: Uint8Array } | null;
  /** The event is of an instance that the destination no longer names. */
  outOfScope: boolean;
  secretsSealed: readonly Uint8Array[];
  /** Of what the event tells of, where its trace is kept. */
  traceparent?: string | undefined;
}

export interface Prepared {
  claimed: Claimed;
  url: URL;
  headers: Record<string, string>;
  body: string;
}

/** Not called: nothing to send, or nowhere to send it. */
export interface Unpreparable {
  claimed: Claimed;
  error: string;
  /** It will never be possible. */
  final: boolean;
}

export interface Called {
  claimed: Claimed;
  /** Null: no answer, for the reason in `error`. */
  statusCode: number | null;
  error: string | null;
  retryAfter: string | null;
  response: Buffer | null;
  latencyMs: number;
}

/** One row of the argument of gwk_record_webhook_results. */
export interface Conclusion {
  deliveryId: string;
  lock: string;
  endpointId: string;
  verdict: 'succeeded' | 'failed' | 'retry' | 'returned';
  delayMs: number | null;
  statusCode: number | null;
  error: string | null;
  latencyMs: number | null;
  response: Buffer | null;
  /** What it says of the destination; null: nothing. */
  health: { healthy: boolean; disable: DisableReason | null; failingSince: Date | null } | null;
}

/** Receives the result of each delivery attempt. */
export interface DeliveryMetrics {
  concluded(conclusion: Conclusion): void;
}
