import type { DisableReason } from '../../resources/webhook.js';

// Pure functions: polling delay, retry schedule and disabling of endpoints (docs/webhooks.md).
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Delay after the first attempt, the second, and so on. A delivery fails after the last attempt. */
const DELAYS_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
export const MAX_ATTEMPTS = DELAYS_MS.length + 1;

/** Fraction by which a retry is later at most, so that deliveries that failed together spread out. */
const JITTER = 0.2;
/** Limit of a `Retry-After` header. */
const MAX_RETRY_AFTER_MS = DAY;

/** Time without a success after which an endpoint is disabled. */
const DISABLE_AFTER_MS = 5 * DAY;
/** After a gap of this length without attempts, a failure starts a new failing period. */
export const FAILURE_GAP_MS = DAY;

const GONE = 410;

/** Polling delay after an empty poll. */
export const IDLE_MS = 100;
const MAX_IDLE_MS = 500;
/** Polls take at most a tenth of the time. */
const IDLE_PER_POLL_MS = 10;

export const pollDelay = (pollMs: number): number =>
  Math.min(Math.max(IDLE_MS, pollMs * IDLE_PER_POLL_MS), MAX_IDLE_MS);

export interface Attempt {
  /** Attempts before this one. */
  earlierAttempts: number;
  /** Null: no answer. */
  statusCode: number | null;
  retryAfterMs: number | null;
  /** A disabled endpoint gets one attempt, for a test or a manual retry. */
  enabled: boolean;
}

type NextAttempt = { result: 'succeeded' | 'failed'; delayMs: null } | { result: 'retry'; delayMs: number };

export const FAILED: NextAttempt = { result: 'failed', delayMs: null };

/** @param random from 0 to 1 */
export function nextAttempt(attempt: Attempt, random = Math.random()): NextAttempt {
  if (isSuccess(attempt.statusCode)) return { result: 'succeeded', delayMs: null };
  const delay = DELAYS_MS[attempt.earlierAttempts];
  if (delay === undefined || attempt.statusCode === GONE || !attempt.enabled) return FAILED;
  const scheduled = Math.round(delay * (1 + JITTER * random));
  const requested = Math.min(attempt.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return { result: 'retry', delayMs: Math.max(scheduled, requested) };
}

export function isSuccess(statusCode: number | null): boolean {
  return statusCode !== null && statusCode >= 200 && statusCode < 300;
}

/** Reads seconds or an HTTP date (RFC 9110). Null: neither of them, or a date in the past. */
export function parseRetryAfter(header: string | null, now: Date): number | null {
  if (header === null) return null;
  const value = header.trim();
  const delay = /^\d{1,10}$/.test(value) ? Number(value) * SECOND : parseHttpDate(value) - now.getTime();
  return delay > 0 ? delay : null;
}

/** NaN if the value is no date. Date.parse alone accepts "-5" and many other texts. */
function parseHttpDate(value: string): number {
  return /^[A-Z][a-z]{2,8},? .*GMT$/.test(value) ? Date.parse(value) : Number.NaN;
}

export interface EndpointHealth {
  failingSince: Date | null;
  lastFailedAt: Date | null;
}

/** Decides whether a failed attempt disables the endpoint. */
export function decideDisable(
  statusCode: number | null,
  health: EndpointHealth,
  now: Date,
): DisableReason | null {
  if (statusCode === GONE) return 'gone';
  const { failingSince, lastFailedAt } = health;
  if (failingSince === null) return null;
  const interrupted = lastFailedAt !== null && now.getTime() - lastFailedAt.getTime() > FAILURE_GAP_MS;
  return !interrupted && now.getTime() - failingSince.getTime() >= DISABLE_AFTER_MS ? 'failing' : null;
}
