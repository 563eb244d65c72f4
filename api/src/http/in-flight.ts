import { Problem } from '@gwk/core/problems';
import type { Exchange, Reply } from './exchange.js';

/**
 * The requests being worked on. One timer looks after all of them: whatever keeps a request from its answer (a
 * Postgres that hangs without closing its connections), the client hears 500 within 5 s.
 */
const MAX_WORK_MS = 4_500;
const LOOK_EVERY_MS = 250;
/** How long a client may take over sending; what takes its body as it comes looks after that itself. */
const MAX_SENDING_MS = 20_000;
/** The place of a request that is not in flight. */
export const NOWHERE = -1;

interface Entry {
  req: Exchange;
  res: Reply;
}

export class InFlight {
  /**
   * In no order; each request knows its place. A Map whose entries come and go is copied as it fills up, and each former
   * copy holds the next: once one has grown old, every request after it stays in memory, with all that it brought, until
   * everything is searched for garbage.
   */
  readonly #entries: Entry[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(readonly giveUp: (req: Exchange, res: Reply, problem: Problem) => void) {
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  get size(): number {
    return this.#entries.length;
  }

  enter(req: Exchange, res: Reply): void {
    req.placeInFlight = this.#entries.length;
    this.#entries.push({ req, res });
  }

  /** Leaving twice is leaving once. */
  leave(req: Exchange): void {
    const place = req.placeInFlight;
    if (place === NOWHERE) return;
    req.placeInFlight = NOWHERE;
    const last = this.#entries.pop()!;
    if (last.req === req) return;
    this.#entries[place] = last;
    last.req.placeInFlight = place;
  }

  /** The process ends: whoever still waits hears that it is to be asked again. */
  giveUpAll(): void {
    for (const { req, res } of [...this.#entries])
      this.giveUp(req, res, new Problem('internal-error', { retryAfter: 1 }));
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    for (const { req, res } of [...this.#entries]) {
      // Its client has gone: there will be no answer by which it leaves.
      if (res.destroyed) this.leave(req);
      else if (req.workingSince !== 0 && req.workingSince <= now - (req.operation?.patienceMs ?? MAX_WORK_MS))
        this.giveUp(req, res, new Problem('internal-error', { retryAfter: 1 }));
      else if (isLate(req, now)) this.giveUp(req, res, notWhole());
    }
  }
}

function isLate({ workingSince, arrivedAt, complete, operation }: Exchange, now: number): boolean {
  return workingSince === 0 && !complete && !operation?.receive && arrivedAt <= now - MAX_SENDING_MS;
}

/** A request that did not arrive whole in time. */
export function notWhole(): Problem {
  const message = 'A requisição não chegou inteira a tempo.';
  return new Problem('validation-error', { errors: [{ path: '', code: 'timeout', message }] });
}
