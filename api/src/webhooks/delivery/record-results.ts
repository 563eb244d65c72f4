import type { Sealer } from '@gwk/core/encryption';
import type { Database } from '../../database/database.js';
import { isSuccess, decideDisable, nextAttempt, parseRetryAfter, FAILURE_GAP_MS } from './schedule.js';
import type { CallOutcome, ClaimedDelivery, AttemptResult, Unsendable } from './types.js';

const COLUMN = 'webhook_deliveries.last_response_sealed';

/** Decides the result of a call and its effect on the endpoint's health. */
export function decideResult(outcome: CallOutcome, sealer: Sealer, now: Date): AttemptResult {
  const { claimed, statusCode, error, latencyMs, response } = outcome;
  const next = nextAttempt({
    earlierAttempts: claimed.earlierAttempts,
    statusCode,
    retryAfterMs: parseRetryAfter(outcome.retryAfter, now),
    enabled: claimed.enabled,
    random: Math.random(),
  });
  const healthy = isSuccess(statusCode);
  return {
    ...keysOf(claimed),
    result: next.result,
    delayMs: next.result === 'retry' ? next.delayMs : null,
    statusCode,
    error,
    latencyMs,
    response: response && sealer.seal(claimed.accountId, COLUMN, response),
    health: {
      healthy,
      disable: healthy ? null : decideDisable(statusCode, claimed, now),
      failingSince: claimed.failingSince,
    },
  };
}

/** Decides the result of a delivery that this worker could not call. It does not count for the endpoint's health. */
export function decideUnsendable({ claimed, error, final }: Unsendable): AttemptResult {
  const { earlierAttempts, enabled } = claimed;
  const next = nextAttempt({
    earlierAttempts,
    statusCode: null,
    retryAfterMs: null,
    enabled,
    random: Math.random(),
  });
  const retry = next.result === 'retry' && !final;
  return {
    ...withoutCall(claimed),
    result: retry ? 'retry' : 'failed',
    delayMs: retry ? next.delayMs : null,
    error,
  };
}

/** Returns a claimed delivery to the queue without a call: it is due at once for another worker. */
export function returnUncalled(claimed: ClaimedDelivery): AttemptResult {
  return { ...withoutCall(claimed), result: 'returned', delayMs: null, error: null };
}

function keysOf({ deliveryId, lock, endpointId }: ClaimedDelivery) {
  return { deliveryId, lock, endpointId };
}

function withoutCall(claimed: ClaimedDelivery) {
  return { ...keysOf(claimed), statusCode: null, latencyMs: null, response: null, health: null };
}

const RECORD_RESULTS = `SELECT gwk_record_webhook_results($1::jsonb, $2::jsonb, $3::integer)`;

/**
 * Writes a group of results in one statement, which skips entries whose lock has expired.
 * @returns the ids of the endpoints that were disabled
 */
export async function recordResults(db: Database, attempts: readonly AttemptResult[]): Promise<string[]> {
  const results = JSON.stringify(
    attempts.map((item) => ({
      delivery_id: item.deliveryId,
      lock: item.lock,
      result: item.result,
      delay_ms: item.delayMs,
      status_code: item.statusCode,
      error: item.error,
      latency_ms: item.latencyMs,
      response: item.response?.toString('base64') ?? null,
    })),
  );
  const endpoints = JSON.stringify(mergeEndpointResults(attempts));
  const [disabled] = await db.callFunction(RECORD_RESULTS, [results, endpoints, FAILURE_GAP_MS]);
  return disabled as string[];
}

interface EndpointResult {
  id: string;
  healthy: boolean;
  disable: string | null;
  failing_since: Date | null;
}

/** Merges the results of each endpoint: one success makes it healthy, unless an answer was 410. */
export function mergeEndpointResults(attempts: readonly AttemptResult[]): EndpointResult[] {
  const merged = new Map<string, EndpointResult>();
  for (const { endpointId, health } of attempts) {
    if (health === null) continue;
    const before = merged.get(endpointId);
    const healthy = health.healthy || (before?.healthy ?? false);
    const reasons = [before?.disable, health.disable];
    const gone = reasons.includes('gone') ? 'gone' : null;
    const disable = gone ?? (healthy ? null : (reasons.find((reason) => reason) ?? null));
    merged.set(endpointId, { id: endpointId, healthy, disable, failing_since: health.failingSince });
  }
  return [...merged.values()];
}
