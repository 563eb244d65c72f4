import { InFlightSet } from '../platform/in-flight-set.js';
import type { Cancel, Clock } from '@gwk/core/clock';
import { Problem } from '@gwk/core/problems/problems';
import type { Exchange, Reply } from './exchange.js';

const MAX_WORK_MS = 4_500;
const LOOK_EVERY_MS = 250;
/** Time limit for a client to send its request; operations that stream the body have limits of their own. */
const MAX_SENDING_MS = 20_000;
/** Longer than the delay of a timer in a busy process. */
const STALL_MS = 1_000;

/**
 * The requests in flight. One timer checks all of them, so that a client gets a 500 within 5 s even if a dependency hangs
 * (for example Postgres, with its connections open).
 *
 * The timer also detects that this process has just been paused: it or its machine was stopped, or it had no processor time.
 * After a pause, timers fire before the process reads the data that arrived meanwhile, so time limits must not act until it
 * has read them.
 */
export class InFlight {
  readonly #replies = new InFlightSet<Reply>();
  readonly #stopLooking: Cancel;
  #lookedAt: number;
  #stalledAt = -Infinity;

  constructor(
    readonly clock: Clock,
    readonly giveUp: (problem: Problem, req: Exchange, res: Reply) => void,
    /** Called for a request whose client disconnected; its work may continue. */
    readonly gone: (req: Exchange) => void,
  ) {
    this.#lookedAt = clock.now();
    this.#stopLooking = clock.every(LOOK_EVERY_MS, () => this.#look());
  }

  get size(): number {
    return this.#replies.size;
  }

  /** True during a pause and for 1 s after it, while the process reads the data that arrived meanwhile. */
  get isStalled(): boolean {
    const now = this.clock.now();
    return now - this.#lookedAt > STALL_MS || now - this.#stalledAt < STALL_MS;
  }

  enter(req: Exchange, res: Reply): void {
    req.inFlight = this.#replies.add(res);
  }

  leave(req: Exchange): void {
    if (req.inFlight) this.#replies.delete(req.inFlight);
  }

  /** Answers all open requests with a 500 and `Retry-After`, because the process is stopping. */
  giveUpAll(): void {
    for (const res of this.#replies.items) this.giveUp(unfinished(), requestOf(res), res);
  }

  stop(): void {
    this.#stopLooking();
  }

  #look(): void {
    const now = this.clock.now();
    if (now - this.#lookedAt > STALL_MS) this.#stalledAt = now;
    this.#lookedAt = now;
    if (this.isStalled) return;
    for (const res of this.#replies.items) {
      const req = requestOf(res);
      if (res.destroyed) {
        this.leave(req);
        this.gone(req);
      } else if (isWorkLate(req, now)) this.giveUp(unfinished(), req, res);
      else if (isBodyLate(req, now)) this.giveUp(incompleteRequest(), req, res);
    }
  }
}

const requestOf = (res: Reply): Exchange => res.req as Exchange;

const unfinished = (): Problem => new Problem('internal-error', { retryAfter: 1 });

const isWorkLate = ({ workingSince, operation }: Exchange, now: number): boolean =>
  workingSince !== 0 && workingSince <= now - (operation?.maxWorkMs ?? MAX_WORK_MS);

const isBodyLate = ({ workingSince, arrivedAt, complete, operation }: Exchange, now: number): boolean =>
  workingSince === 0 && !complete && !operation?.receive && arrivedAt <= now - MAX_SENDING_MS;

/** The problem of a request that did not arrive completely in time. */
export function incompleteRequest(): Problem {
  const message = 'The request did not arrive in full in time.';
  return new Problem('validation-error', { errors: [{ path: '', code: 'timeout', message }] });
}
