import { InFlightSet } from '@gwk/core/in-flight-set';
import type { Cancel, Clock } from '@gwk/core/clock';
import { Problem } from '@gwk/core/problems';
import type { Exchange, Reply } from './exchange.js';
import type { StallDetector } from './stall-detector.js';

const MAX_WORK_MS = 4_500;
const LOOK_EVERY_MS = 250;
/** Time limit for a client to send its request; operations that stream the body have limits of their own. */
const MAX_SENDING_MS = 20_000;

/**
 * The requests in flight. One timer checks all of them, so that a client gets a 500 within 5 s even if a dependency hangs
 * (for example Postgres, with its connections open).
 */
export class InFlight {
  readonly #replies = new InFlightSet<Reply>();
  readonly #stopLooking: Cancel;

  constructor(
    readonly stallDetector: StallDetector,
    readonly clock: Clock,
    readonly giveUp: (req: Exchange, res: Reply, problem: Problem) => void,
    /** Called for a request whose client disconnected; its work may continue. */
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

  /** Answers all open requests with a 500 and `Retry-After`, because the process is stopping. */
  giveUpAll(): void {
    for (const res of this.#replies.items)
      this.giveUp(requestOf(res), res, new Problem('internal-error', { retryAfter: 1 }));
  }

  stop(): void {
    this.#stopLooking();
  }

  #look(): void {
    // After a stall, answers may have arrived that this process has not read yet.
    if (this.stallDetector.isRecent) return;
    const now = this.clock.now();
    for (const res of this.#replies.items) {
      const req = requestOf(res);
      if (res.destroyed) {
        this.leave(req);
        this.gone(req);
      } else if (
        req.workingSince !== 0 &&
        req.workingSince <= now - (req.operation?.maxWorkMs ?? MAX_WORK_MS)
      )
        this.giveUp(req, res, new Problem('internal-error', { retryAfter: 1 }));
      else if (isLate(req, now)) this.giveUp(req, res, incompleteRequest());
    }
  }
}

const requestOf = (res: Reply): Exchange => res.req as Exchange;

function isLate({ workingSince, arrivedAt, complete, operation }: Exchange, now: number): boolean {
  return workingSince === 0 && !complete && !operation?.receive && arrivedAt <= now - MAX_SENDING_MS;
}

/** The problem of a request that did not arrive completely in time. */
export function incompleteRequest(): Problem {
  const message = 'A requisição não chegou inteira a tempo.';
  return new Problem('validation-error', { errors: [{ path: '', code: 'timeout', message }] });
}
