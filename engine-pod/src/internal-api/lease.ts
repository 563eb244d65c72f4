import type { EngineClient } from '@gwk/core/protocol/internal-client';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import type { EngineResponse } from '@gwk/core/protocol/engine';
import type { Logger } from '@gwk/core/log';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffDelay } from '../backoff.js';
import { processClock, type Clock } from '@gwk/core/clock';
import { monotonicNow } from '../clock.js';
import { closeAt, mayActAt, renewDelay, renewTimeout, type LeaseTerm } from './lease-timing.js';
import { findFinalRefusal, ClientClosed, type FinalRefusal, type InternalApiClient } from './client.js';

export type AcquiredLease = EngineResponse<'acquire'>;

const RETRY = { first: 200, most: 5_000 };
const HELD_RETRY_MS = 2_000;
const ACQUIRE_TIMEOUT_MS = 5_000;

export class AcquireRefused extends Error {
  override name = 'AcquireRefused';
  constructor(readonly refusal: FinalRefusal) {
    super(`the lease was refused: ${refusal}`);
  }
}

/**
 * Asks until the lease is this engine's. Another engine that holds it has as long as the port says; asking again a
 * little earlier than that finds a lease that was released meanwhile.
 *
 * @throws AcquireRefused; AbortError when `signal` says to stop
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
      if (attempt === 1) context.log.warn({ err: error }, 'the lease is not to be had yet');
      wait =
        error instanceof InternalApiRefusal && error.refusal === 'lease-held'
          ? Math.min(error.retryAfterMs ?? HELD_RETRY_MS, HELD_RETRY_MS) * (0.8 + 0.2 * Math.random())
          : backoffDelay(RETRY, attempt);
    }
    await sleep(wait, undefined, { signal: context.signal });
  }
}

/** A lease ends by a clock that goes on while the machine sleeps. */
const LEASE_CLOCK: Clock = { ...processClock, now: monotonicNow };

export interface LeaseEvents {
  /** The lease is about to end unrenewed: the socket closes now. */
  unconfirmed: () => void;
  /** It was renewed after that. */
  confirmed: () => void;
  renewed: (answer: EngineResponse<'renew'>) => void;
}

/**
 * Holds an acquired lease: renews it, and says when the engine may act in its name. Unreachable is not refused: the
 * lease holds until shortly before its end, then pauses the engine, and a later renewal resumes it. A refusal is the
 * port's to report, since any call may meet it.
 */
export class Lease {
  readonly #port: Pick<InternalApiClient, 'call' | 'closed'>;
  readonly #events: LeaseEvents;
  readonly #renewMs: number;
  readonly #isConnected: () => boolean;
  readonly #clock: Clock;
  #term: LeaseTerm;
  #paused = false;
  #stopped = false;
  #renewing = false;
  /** Was asked for while a renewal was under way, whose answer may be older than that. */
  #renewAgain = false;
  #cancelRenew: () => void = () => undefined;
  #cancelClose: () => void = () => undefined;

  constructor(options: {
    port: Pick<InternalApiClient, 'call' | 'closed'>;
    term: LeaseTerm;
    renewMs: number;
    isConnected: () => boolean;
    events: LeaseEvents;
    clock?: Clock;
  }) {
    this.#port = options.port;
    this.#term = options.term;
    this.#renewMs = options.renewMs;
    this.#isConnected = options.isConnected;
    this.#events = options.events;
    this.#clock = options.clock ?? LEASE_CLOCK;
  }

  /** Read before every act in the lease's name: a process that was stopped past its lease acts on nothing. */
  get valid(): boolean {
    return !this.#stopped && !this.#port.closed && !this.#paused && this.unexpired;
  }

  /** By the clock alone: an engine that ends orderly still says so to the network. */
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

  /** Renews no more; `release` may follow once the socket is closed. */
  stop(): void {
    this.#stopped = true;
    this.#cancelRenew();
    this.#cancelClose();
  }

  /** Its terms have changed, and are wanted now. */
  renewNow(): void {
    if (this.#renewing) this.#renewAgain = true;
    if (this.#renewing || this.#stopped || this.#port.closed) return;
    this.#cancelRenew();
    void this.#renew(0);
  }

  #armRenew(unanswered: number): void {
    if (this.#stopped || this.#port.closed) return;
    const delay = this.#renewAgain ? 0 : renewDelay(this.#renewMs, unanswered, Math.random());
    this.#renewAgain = false;
    this.#cancelRenew = this.#clock.after(delay, () => void this.#renew(unanswered));
  }

  async #renew(unanswered: number): Promise<void> {
    const from = this.#clock.now();
    this.#renewing = true;
    try {
      const answer = await this.#port.call(
        'renew',
        { connected: this.#isConnected() },
        renewTimeout(this.#term.leaseMs),
      );
      this.#renewing = false;
      if (this.#stopped) return;
      this.#extend({ from, leaseMs: answer.lease_ms });
      this.#events.renewed(answer);
      this.#armRenew(0);
    } catch (error) {
      this.#renewing = false;
      if (!(error instanceof ClientClosed)) this.#armRenew(unanswered + 1);
    }
  }

  #extend(term: LeaseTerm): void {
    this.#term = term;
    this.#armClose();
    // An answer that took longer than the lease itself confirms nothing.
    if (!this.#paused || !mayActAt(term, this.#clock.now())) return;
    this.#paused = false;
    this.#events.confirmed();
  }

  #armClose(): void {
    this.#cancelClose();
    this.#cancelClose = this.#clock.after(this.msLeft, () => this.#pauseIfDue());
  }

  /** Timers and the monotonic clock differ by some milliseconds: the clock decides. */
  #pauseIfDue(): void {
    if (this.#paused || this.#stopped || this.#port.closed) return;
    if (this.unexpired) {
      this.#armClose();
      return;
    }
    this.#paused = true;
    this.#events.unconfirmed();
  }
}
