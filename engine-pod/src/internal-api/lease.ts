import type { EngineClient } from '@gwk/core/protocol/internal-client';
import { InternalApiRefusal, InternalApiUnreachable } from '@gwk/core/protocol/internal-client';
import type { EngineResponse } from '@gwk/core/protocol/engine';
import type { Logger } from '@gwk/core/process/log';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffDelay } from '@gwk/core/async/backoff';
import { processClock, type Clock } from '@gwk/core/clock';
import { monotonicNow } from '../clock.js';
import { findFinalRefusal, ClientClosed, type FinalRefusal, type InternalApiClient } from './client.js';

export type AcquiredLease = EngineResponse<'acquire'>;

/** The term of a lease on the monotonic clock. */
export interface LeaseTerm {
  /** Send time of the request that granted or renewed the lease. The duration counts from then. */
  from: number;
  leaseMs: number;
}

const CLOSE_BEFORE_MS = 5_000;

/** Time before the end at which the socket is closed and sending stops: 5 s, or a ninth of a short lease. */
export function closeMargin(leaseMs: number): number {
  return Math.min(CLOSE_BEFORE_MS, leaseMs / 9);
}

/** From this time on the engine has no socket and sends nothing. */
export function closeAt(term: LeaseTerm): number {
  return term.from + term.leaseMs - closeMargin(term.leaseMs);
}

export function mayActAt(term: LeaseTerm, now: number): boolean {
  return now < closeAt(term);
}

/**
 * Delay before the next renewal. An unanswered renewal is retried sooner, as often as fits before the socket must
 * close.
 *
 * @param random from 0 to 1
 */
export function renewDelay(renewMs: number, unanswered: number, random: number): number {
  const base = unanswered === 0 ? renewMs : Math.min(renewMs, 2_000);
  return Math.round(base * (0.8 + 0.2 * random));
}

/** Timeout of a renewal. An early retry is better than a late answer. */
export function renewTimeout(leaseMs: number): number {
  return Math.max(200, Math.min(5_000, Math.floor(leaseMs / 6)));
}

const RETRY = { firstMs: 200, maxMs: 5_000 };
const HELD_RETRY_MS = 2_000;
const ACQUIRE_TIMEOUT_MS = 5_000;

export class AcquireRefused extends Error {
  override name = 'AcquireRefused';
  constructor(readonly refusal: FinalRefusal) {
    super(`the lease was refused: ${refusal}`);
  }
}

/**
 * Retries until this engine has the lease. While another engine holds it, waits as long as the API says, but at
 * most 2 s, to find a lease that is released early.
 *
 * @throws AcquireRefused; AbortError when `signal` is aborted
 */
export async function acquireLease(
  client: EngineClient,
  request: { pod: string; version: string },
  context: { log: Logger; signal: AbortSignal },
): Promise<{ acquired: AcquiredLease; term: LeaseTerm }> {
  const holder = randomUUID();
  for (let attempt = 1; ; attempt++) {
    const from = monotonicNow();
    let wait: number;
    try {
      const acquired = await client.call('acquire', { ...request, holder }, ACQUIRE_TIMEOUT_MS);
      return { acquired, term: { from, leaseMs: acquired.lease_ms } };
    } catch (error) {
      const refusal = findFinalRefusal(error);
      if (refusal) throw new AcquireRefused(refusal);
      if (attempt === 1) context.log.warn({ err: error }, 'lease not available yet; retrying');
      wait =
        error instanceof InternalApiRefusal && error.refusal === 'lease-held'
          ? Math.min(error.retryAfterMs ?? HELD_RETRY_MS, HELD_RETRY_MS) * (0.8 + 0.2 * Math.random())
          : Math.max(backoffDelay(RETRY, attempt), findRetryAfter(error) ?? 0);
    }
    await sleep(wait, undefined, { signal: context.signal });
  }
}

/** When an API that did not take the call wants the next attempt. */
const findRetryAfter = (error: unknown): number | null =>
  error instanceof InternalApiUnreachable ? error.retryAfterMs : null;

/** A lease is measured on a clock that keeps running while the machine sleeps. */
const LEASE_CLOCK: Clock = { ...processClock, now: monotonicNow };

interface LeaseOptions {
  api: Pick<InternalApiClient, 'call' | 'closed'>;
  term: LeaseTerm;
  renewMs: number;
  isConnected: () => boolean;
  events: {
    /** The lease is about to expire without renewal: close the socket now. */
    unconfirmed: () => void;
    /** Renewed after that. */
    confirmed: () => void;
    renewed: (answer: EngineResponse<'renew'>) => void;
  };
  clock?: Clock;
}

/**
 * Renews an acquired lease and decides when the engine may act under it. An unreachable API is not a refusal:
 * shortly before the lease ends, the engine pauses, and a later renewal resumes it. The client reports refusals,
 * because any call may be refused.
 */
export class Lease {
  readonly #options: LeaseOptions;
  readonly #clock: Clock;
  #term: LeaseTerm;
  #paused = false;
  #stopped = false;
  #renewing = false;
  /** A renewal was requested during one that is in progress, whose answer may be older. */
  #renewAgain = false;
  /** Resolves with the answer to the next renewal, or without one. */
  #next = Promise.withResolvers<void>();
  #cancelRenew: () => void = () => undefined;
  #cancelClose: () => void = () => undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#term = options.term;
    this.#clock = options.clock ?? LEASE_CLOCK;
  }

  /** Check before every action under the lease. A process that was stopped past its lease must not act. */
  get valid(): boolean {
    return !this.#stopped && !this.#options.api.closed && !this.#paused && this.unexpired;
  }

  /** By the clock alone. An engine that stops gracefully may still write to the network. */
  get unexpired(): boolean {
    return mayActAt(this.#term, this.#clock.now());
  }

  get msLeft(): number {
    return Math.max(0, closeAt(this.#term) - this.#clock.now());
  }

  start(): void {
    this.#armClose();
    this.#armRenew(0);
  }

  /** Stops renewing. `release` may follow once the socket is closed. */
  stop(): void {
    this.#stopped = true;
    this.#next.resolve();
    this.#cancelRenew();
    this.#cancelClose();
  }

  /** Renews at once, because the terms have changed. Resolves once they hold. A failed renewal is retried later. */
  async renewNow(): Promise<void> {
    if (this.#stopped || this.#options.api.closed) return;
    const { promise } = this.#next;
    if (this.#renewing) this.#renewAgain = true;
    else {
      this.#cancelRenew();
      void this.#renew(0);
    }
    await promise;
  }

  #armRenew(unanswered: number, retryAfterMs: number | null = null): void {
    const { api, renewMs } = this.#options;
    if (this.#stopped || api.closed) return;
    const own = renewDelay(renewMs, unanswered, Math.random());
    const delay = this.#renewAgain ? 0 : Math.min(renewMs, retryAfterMs ?? own);
    this.#renewAgain = false;
    this.#cancelRenew = this.#clock.after(delay, () => void this.#renew(unanswered));
  }

  async #renew(unanswered: number): Promise<void> {
    const from = this.#clock.now();
    const renewed = this.#next;
    this.#next = Promise.withResolvers();
    this.#renewing = true;
    try {
      const { api, isConnected } = this.#options;
      const answer = await api.call('renew', { connected: isConnected() }, renewTimeout(this.#term.leaseMs));
      this.#renewing = false;
      if (this.#stopped) return;
      this.#extend({ from, leaseMs: answer.lease_ms });
      this.#options.events.renewed(answer);
      this.#armRenew(0);
    } catch (error) {
      this.#renewing = false;
      if (error instanceof ClientClosed) this.#next.resolve();
      else this.#armRenew(unanswered + 1, findRetryAfter(error));
    } finally {
      renewed.resolve();
    }
  }

  #extend(term: LeaseTerm): void {
    this.#term = term;
    this.#armClose();
    // An answer that took longer than the lease confirms nothing.
    if (!this.#paused || !mayActAt(term, this.#clock.now())) return;
    this.#paused = false;
    this.#options.events.confirmed();
  }

  #armClose(): void {
    this.#cancelClose();
    this.#cancelClose = this.#clock.after(this.msLeft, () => this.#pauseIfDue());
  }

  /** Timers and the monotonic clock differ by some milliseconds. The clock decides. */
  #pauseIfDue(): void {
    if (this.#paused || this.#stopped || this.#options.api.closed) return;
    if (this.unexpired) {
      this.#armClose();
      return;
    }
    this.#paused = true;
    this.#options.events.unconfirmed();
  }
}
