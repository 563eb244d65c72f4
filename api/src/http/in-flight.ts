import { InFlightSet } from '@gwk/core/in-flight-set';
import type { Cancel, Clock } from '@gwk/core/clock';
import { Problem } from '@gwk/core/problems';
import type { Exchange, Reply } from './exchange.js';
import type { Standstill } from './standstill.js';

/**
 * The requests being worked on. One timer looks after all of them: whatever keeps a request from its answer (a
 * Postgres that hangs without closing its connections), the client hears 500 within 5 s.
 */
const MAX_WORK_MS = 4_500;
const LOOK_EVERY_MS = 250;
/** How long a client may take over sending; what takes its body as it comes looks after that itself. */
const MAX_SENDING_MS = 20_000;

export class InFlight {
  readonly #replies = new InFlightSet<Reply>();
  readonly #stopLooking: Cancel;

  constructor(
    readonly standstill: Standstill,
    readonly clock: Clock,
    readonly giveUp: (req: Exchange, res: Reply, problem: Problem) => void,
    /** It will have no answer; its work may go on. */
    readonly gone: (req: Exchange) => void,
  ) {
    this.#stopLooking = clock.every(LOOK_EVERY_MS, () => this.#look());
  }

  get size(): number {
    return this.#replies.size;
  }

  enter(req: Exchange, res: Reply): void {
    req.inFlight = this.#replies.add(res);
  }

  leave(req: Exchange): void {
    if (req.inFlight) this.#replies.delete(req.inFlight);
  }

  /** The process ends: whoever still waits hears that it is to be asked again. */
  giveUpAll(): void {
    for (const res of this.#replies.items)
      this.giveUp(requestOf(res), res, new Problem('internal-error', { retryAfter: 1 }));
  }

  stop(): void {
    this.#stopLooking();
  }

  #abandon(req: Exchange): void {
    this.leave(req);
    this.gone(req);
  }

  #look(): void {
    // What they waited for may be there, unread.
    if (this.standstill.isRecent) return;
    const now = this.clock.now();
    for (const res of this.#replies.items) {
      const req = requestOf(res);
      if (res.destroyed) this.#abandon(req);
      else if (req.workingSince !== 0 && req.workingSince <= now - (req.operation?.patienceMs ?? MAX_WORK_MS))
        this.giveUp(req, res, new Problem('internal-error', { retryAfter: 1 }));
      else if (isLate(req, now)) this.giveUp(req, res, notWhole());
    }
  }
}

const requestOf = (res: Reply): Exchange => res.req as Exchange;

function isLate({ workingSince, arrivedAt, complete, operation }: Exchange, now: number): boolean {
  return workingSince === 0 && !complete && !operation?.receive && arrivedAt <= now - MAX_SENDING_MS;
}

/** A request that did not arrive whole in time. */
export function notWhole(): Problem {
  const message = 'A requisição não chegou inteira a tempo.';
  return new Problem('validation-error', { errors: [{ path: '', code: 'timeout', message }] });
}
