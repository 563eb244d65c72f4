import type { DisableReason } from '@gwk/core/resources/webhook';

/**
 * When deliveries are looked for, when one is tried again, and when a destination is given up (design: delivery rules).
 * Pure.
 */
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** After the first attempt, the second, and so on; then the delivery has failed. */
const DELAYS_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
export const MAX_ATTEMPTS = DELAYS_MS.length + 1;

/** Only ever later, so that what failed together does not return together. */
const JITTER = 0.2;
/** A destination may ask for patience, not for oblivion. */
const MAX_RETRY_AFTER_MS = DAY;

/** So long without one success, and a destination is disabled. */
const GIVE_UP_AFTER_MS = 5 * DAY;
/** Failures further apart than this, with nothing between them, are two short failures and not a long one. */
export const QUIET_MS = DAY;

const GONE = 410;

/** Until the queue, in which there was nothing, is looked at again. */
export const IDLE_MS = 100;
const MAX_IDLE_MS = 500;
/** Looking at the queue takes no more than a tenth of the time. */
const IDLE_PER_LOOK_MS = 10;

export const restAfter = (lookMs: number): number =>
  Math.min(Math.max(IDLE_MS, lookMs * IDLE_PER_LOOK_MS), MAX_IDLE_MS);

export interface Attempt {
  /** Those before this one. */
  earlierAttempts: number;
  /** Null: there was no answer. */
  statusCode: number | null;
  retryAfterMs: number | null;
  /** A disabled destination is tried once, for whoever asked for it by hand. */
  enabled: boolean;
  /** From 0 to 1. */
  random: number;
}

export type NextAttempt =
  { verdict: 'succeeded' } | { verdict: 'failed' } | { verdict: 'retry'; delayMs: number };

export function nextAttempt(attempt: Attempt): NextAttempt {
  if (isSuccess(attempt.statusCode)) return { verdict: 'succeeded' };
  const delay = DELAYS_MS[attempt.earlierAttempts];
  if (delay === undefined || attempt.statusCode === GONE || !attempt.enabled) return { verdict: 'failed' };
  const scheduled = Math.round(delay * (1 + JITTER * attempt.random));
  const asked = Math.min(attempt.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return { verdict: 'retry', delayMs: Math.max(scheduled, asked) };
}

export function isSuccess(statusCode: number | null): boolean {
  return statusCode !== null && statusCode >= 200 && statusCode < 300;
}

/** Seconds or an HTTP date (RFC 9110); null where it is neither, or past. */
export function parseRetryAfter(header: string | null, now: Date): number | null {
  if (header === null) return null;
  const value = header.trim();
  const delay = /^\d{1,10}$/.test(value) ? Number(value) * SECOND : httpDate(value) - now.getTime();
  return delay > 0 ? delay : null;
}

/** NaN where it is none. Date.parse alone would take "-5" and many other things for dates. */
function httpDate(value: string): number {
  return /^[A-Z][a-z]{2,8},? .*GMT$/.test(value) ? Date.parse(value) : Number.NaN;
}

export interface DestinationHealth {
  failingSince: Date | null;
  lastFailedAt: Date | null;
}

/** Whether an attempt that failed is the last that its destination is given. */
export function judgeDestination(
  statusCode: number | null,
  health: DestinationHealth,
  now: Date,
): DisableReason | null {
  if (statusCode === GONE) return 'gone';
  const { failingSince, lastFailedAt } = health;
  if (failingSince === null) return null;
  const quiet = lastFailedAt !== null && now.getTime() - lastFailedAt.getTime() > QUIET_MS;
  return !quiet && now.getTime() - failingSince.getTime() >= GIVE_UP_AFTER_MS ? 'failing' : null;
}
