import type { Sealer } from '@gwk/core/crypto/encryption';
import type { Database } from '../../database/database.js';
import { Prisma } from '../../generated/prisma/client.js';
import {
  isSuccess,
  decideDisable,
  nextAttempt,
  parseRetryAfter,
  FAILED,
  FAILURE_GAP_MS,
} from './schedule.js';
import type { CallOutcome, ClaimedDelivery, AttemptResult, Unsendable } from './types.js';

const COLUMN = 'webhook_deliveries.last_response_sealed';

/** The stored start of an answer. */
export const openResponse = (sealer: Sealer, accountId: string, sealed: Uint8Array): string =>
  sealer.open(accountId, COLUMN, sealed).toString('utf8');

/** Decides the result of a call and its effect on the endpoint's health. */
export function decideResult(
  { retryAfter, ...outcome }: CallOutcome,
  sealer: Sealer,
  now: Date,
): AttemptResult {
  const { claimed, statusCode, response } = outcome;
  const healthy = isSuccess(statusCode);
  return {
    ...outcome,
    ...nextAttempt({ ...claimed, statusCode, retryAfterMs: parseRetryAfter(retryAfter, now) }),
    response: response && sealer.seal(claimed.accountId, COLUMN, response),
    health: { healthy, disable: healthy ? null : decideDisable(statusCode, claimed, now) },
  };
}

const WITHOUT_CALL = { statusCode: null, latencyMs: null, response: null, health: null };

/** Decides the result of a delivery that this worker could not call. It does not count for the endpoint's health. */
export function decideUnsendable({ claimed, error, final }: Unsendable): AttemptResult {
  const next = final ? FAILED : nextAttempt({ ...claimed, statusCode: null, retryAfterMs: null });
  return { ...WITHOUT_CALL, claimed, error, ...next };
}

/** Returns a claimed delivery to the queue without a call: it is due at once for another worker. */
export function returnUncalled(claimed: ClaimedDelivery): AttemptResult {
  return { ...WITHOUT_CALL, claimed, error: null, result: 'returned', delayMs: null };
}

/**
 * Writes a group of results in one statement, which skips entries whose lock has expired.
 * @returns the ids of the endpoints that were disabled
 */
export async function recordResults(db: Database, attempts: readonly AttemptResult[]): Promise<string[]> {
  const results = JSON.stringify(
    attempts.map((item) => ({
      delivery_id: item.claimed.deliveryId,
      lock: item.claimed.lock,
      result: item.result,
      delay_ms: item.delayMs,
      status_code: item.statusCode,
      error: item.error,
      latency_ms: item.latencyMs,
      response: item.response?.toString('base64') ?? null,
    })),
  );
  const endpoints = JSON.stringify(mergeEndpointResults(attempts));
  const [row] = await db.queryRows<{ disabled: string[] }>(Prisma.sql`
    SELECT gwk_record_webhook_results(${results}::jsonb, ${endpoints}::jsonb, ${FAILURE_GAP_MS}::integer) AS disabled`);
  return row!.disabled;
}

const isGivenUp = ({ health, result }: AttemptResult): boolean => health === null && result === FAILED.result;

/**
 * Merges the results of each endpoint: one success makes it healthy, unless an answer was 410. Attempts without a call
 * leave `healthy` null, but have an error.
 */
export function mergeEndpointResults(attempts: readonly AttemptResult[]) {
  const counted = attempts.filter(({ health, error }) => health !== null || error !== null);
  return [...Map.groupBy(counted, ({ claimed }) => claimed.endpointId)].map(([id, results]) => {
    const called = results.filter(({ health }) => health !== null);
    const healthy = called.length === 0 ? null : called.some(({ health }) => health!.healthy);
    const reasons = called.map(({ health }) => health!.disable).filter((reason) => reason !== null);
    const disable = reasons.includes('gone') ? 'gone' : healthy ? null : (reasons[0] ?? null);
    // Not the reason why a delivery was given up without a call: it says nothing about the endpoint.
    const error = results.findLast((one) => one.error !== null && !isGivenUp(one))?.error ?? null;
    return { id, healthy, disable, failing_since: results.at(-1)!.claimed.failingSince, error };
  });
}
