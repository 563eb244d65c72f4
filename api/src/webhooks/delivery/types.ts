import type { DisableReason } from '../../resources/webhook.js';
import type { Role } from '../../roles.js';
import type { Scope } from '@gwk/core/scopes';
import type { EndpointHealth } from './schedule.js';

// Types between the steps of a delivery: claim -> prepare -> call -> record the result. The input of each step is
// the output of the step before it.

export interface ClaimedDelivery extends EndpointHealth {
  deliveryId: string;
  /** Id of the claim. A result counts only while the entry is locked by it. */
  lock: string;
  endpointId: string;
  accountId: string;
  eventId: string;
  earlierAttempts: number;
  url: string;
  enabled: boolean;
  /** Null: the event was deleted. */
  event: { type: string; at: Date; dataSealed: Uint8Array } | null;
  /** The endpoint no longer includes the instance of the event. */
  outOfScope: boolean;
  /** Rights of the key or person who last changed the endpoint, for `instance.qr` only. Null: none, or another event. */
  codesAuthor: { role: Role } | { scopes: Scope[] } | null;
  secretsSealed: readonly Uint8Array[];
  /** Null: no custom headers. */
  headersSealed: Uint8Array | null;
  /** Trace context of the event, if it has one. */
  traceparent?: string | undefined;
}

export interface PreparedCall {
  claimed: ClaimedDelivery;
  url: URL;
  headers: Record<string, string>;
  body: string;
}

/** A delivery that cannot be called. */
export interface Unsendable {
  claimed: ClaimedDelivery;
  error: string;
  /** A retry cannot help. */
  final: boolean;
}

export interface CallOutcome {
  claimed: ClaimedDelivery;
  /** Null: no answer; `error` has the reason. */
  statusCode: number | null;
  error: string | null;
  retryAfter: string | null;
  response: Buffer | null;
  latencyMs: number;
}

/** Result of one attempt. */
export interface AttemptResult extends Pick<CallOutcome, 'claimed' | 'statusCode' | 'error' | 'response'> {
  result: 'succeeded' | 'failed' | 'retry' | 'returned';
  /** Delay before a retry. */
  delayMs: number | null;
  latencyMs: number | null;
  /** Effect on the endpoint; null: none. */
  health: { healthy: boolean; disable: DisableReason | null } | null;
}
