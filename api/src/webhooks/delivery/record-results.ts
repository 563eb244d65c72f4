import type { Sealer } from '@gwk/core/encryption';
import type { Database } from '../../database/database.js';
import { isSuccess, judgeDestination, nextAttempt, parseRetryAfter, QUIET_MS } from './schedule.js';
import type { Called, Claimed, Conclusion, Unpreparable } from './types.js';

/** What becomes of a delivery after a call. */
export function conclude(called: Called, sealer: Sealer, now: Date): Conclusion {
  const { claimed, statusCode, error, latencyMs, response } = called;
  const next = nextAttempt({
    earlierAttempts: claimed.earlierAttempts,
    statusCode,
    retryAfterMs: parseRetryAfter(called.retryAfter, now),
    enabled: claimed.enabled,
    random: Math.random(),
  });
  const healthy = isSuccess(statusCode);
  return {
    ...nameOf(claimed),
    verdict: next.verdict,
    delayMs: next.verdict === 'retry' ? next.delayMs : null,
    statusCode,
    error,
    latencyMs,
    response: response && sealResponse(sealer, claimed.accountId, response),
    health: {
      healthy,
      disable: healthy ? null : judgeDestination(statusCode, claimed, now),
      failingSince: claimed.failingSince,
    },
  };
}

/** What could not be sent from here says nothing about its destination. */
export function concludeUnpreparable({ claimed, error, final }: Unpreparable): Conclusion {
  const { earlierAttempts, enabled } = claimed;
  const next = nextAttempt({
    earlierAttempts,
    statusCode: null,
    retryAfterMs: null,
    enabled,
    random: Math.random(),
  });
  const retry = next.verdict === 'retry' && !final;
  return {
    ...nothingOf(claimed),
    verdict: retry ? 'retry' : 'failed',
    delayMs: retry ? next.delayMs : null,
    error,
  };
}

/** Claimed and not called: due at once, for another worker. */
export function giveBack(claimed: Claimed): Conclusion {
  return { ...nothingOf(claimed), verdict: 'returned', delayMs: null, error: null };
}

function nameOf({ deliveryId, lock, endpointId }: Claimed) {
  return { deliveryId, lock, endpointId };
}

function nothingOf(claimed: Claimed) {
  return { ...nameOf(claimed), statusCode: null, latencyMs: null, response: null, health: null };
}

const COLUMN = 'webhook_deliveries.last_response_sealed';

function sealResponse(sealer: Sealer, accountId: string, response: Buffer): Buffer {
  return sealer.seal(accountId, COLUMN, response);
}

const CONCLUDE = `SELECT gwk_record_webhook_results($1::jsonb, $2::jsonb, $3::integer)`;

/**
 * Writes a group, in one statement. Results of entries that are no longer held are left out by it.
 * @returns the destinations that were disabled
 */
export async function writeConclusions(db: Database, conclusions: readonly Conclusion[]): Promise<string[]> {
  const results = JSON.stringify(
    conclusions.map((item) => ({
      delivery_id: item.deliveryId,
      lock: item.lock,
      result: item.verdict,
      delay_ms: item.delayMs,
      status_code: item.statusCode,
      error: item.error,
      latency_ms: item.latencyMs,
      response: item.response?.toString('base64') ?? null,
    })),
  );
  const destinations = JSON.stringify(judgeTogether(conclusions));
  const [disabled] = await db.callFunction(CONCLUDE, [results, destinations, QUIET_MS]);
  return disabled as string[];
}

export interface DestinationVerdict {
  id: string;
  healthy: boolean;
  disable: string | null;
  failing_since: Date | null;
}

/** One verdict for each destination of a group: any success makes it healthy, unless it said that it is gone. */
export function judgeTogether(conclusions: readonly Conclusion[]): DestinationVerdict[] {
  const verdicts = new Map<string, DestinationVerdict>();
  for (const { endpointId, health } of conclusions) {
    if (health === null) continue;
    const before = verdicts.get(endpointId);
    const healthy = health.healthy || (before?.healthy ?? false);
    const reasons = [before?.disable, health.disable];
    const gone = reasons.includes('gone') ? 'gone' : null;
    const disable = gone ?? (healthy ? null : (reasons.find((reason) => reason) ?? null));
    verdicts.set(endpointId, { id: endpointId, healthy, disable, failing_since: health.failingSince });
  }
  return [...verdicts.values()];
}
