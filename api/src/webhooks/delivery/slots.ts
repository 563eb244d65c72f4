/**
 * The places that calls in flight take in one worker: so many in all, so many to one destination. Destinations that
 * fail or answer slowly share half of them, so that however many of those there are, the others find room.
 *
 * One that gave no answer at all is left alone for a while, then called once at a time until it answers: each further
 * silence doubles the while. What waits for it is not spent on calls that fail like the last one, and costs the others
 * nothing; when it answers again, everything goes at once.
 */
export interface SlotLimits {
  total: number;
  perEndpoint: number;
  slowMs: number;
}

export interface Ended {
  latencyMs: number;
  /** Whatever it answered; null where the call says nothing of its destination. */
  answered: boolean | null;
}

interface Silence {
  /** Calls made before are of the silence that is known already. */
  since: number;
  restMs: number;
}

const MAX_REMEMBERED = 1_000;
/** Each claim names them all. */
const MAX_SILENT = 200;
const FIRST_REST_MS = 100;
/** As long as the first delay of a single delivery. */
const MAX_REST_MS = 5_000;

export class Slots {
  readonly #limits: SlotLimits;
  readonly #now: () => number;
  readonly #busy = new Map<string, number>();
  /** Those whose last answer took long. */
  readonly #slow = new Set<string>();
  /** Those that gave none to their last call. */
  readonly #silent = new Map<string, Silence>();
  #taken = 0;
  #doubtful = 0;

  constructor(limits: SlotLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  get taken(): number {
    return this.#taken;
  }

  /** What a claim may take. `busy`: places of each destination that are not free for it. */
  room(): { busy: ReadonlyMap<string, number>; slow: readonly string[]; most: number; mostDoubtful: number } {
    const { total } = this.#limits;
    const doubtful = Math.max(1, Math.floor(total / 2));
    return {
      busy: this.#closed(),
      slow: [...this.#slow],
      most: Math.max(0, total - this.#taken),
      mostDoubtful: Math.max(0, doubtful - this.#doubtful),
    };
  }

  /** @returns what gives the place back */
  take(endpointId: string, failing: boolean): (ended: Ended) => void {
    const doubtful = failing || this.#slow.has(endpointId);
    const startedAt = this.#now();
    this.#taken += 1;
    if (doubtful) this.#doubtful += 1;
    this.#busy.set(endpointId, (this.#busy.get(endpointId) ?? 0) + 1);
    return ({ latencyMs, answered }) => {
      this.#taken -= 1;
      if (doubtful) this.#doubtful -= 1;
      const left = this.#busy.get(endpointId)! - 1;
      if (left > 0) this.#busy.set(endpointId, left);
      else this.#busy.delete(endpointId);
      this.#rememberSpeed(endpointId, latencyMs);
      if (answered === true) this.#silent.delete(endpointId);
      else if (answered === false) this.#rememberSilence(endpointId, startedAt);
    };
  }

  /** Calls in flight, and as many places more as a silent destination is not to have. */
  #closed(): ReadonlyMap<string, number> {
    if (this.#silent.size === 0) return this.#busy;
    const closed = new Map(this.#busy);
    const now = this.#now();
    const { perEndpoint } = this.#limits;
    for (const [endpointId, { since, restMs }] of this.#silent) {
      const open = now - since < restMs ? 0 : 1;
      closed.set(endpointId, perEndpoint - Math.max(0, open - (this.#busy.get(endpointId) ?? 0)));
    }
    return closed;
  }

  #rememberSpeed(endpointId: string, latencyMs: number): void {
    this.#slow.delete(endpointId);
    if (latencyMs < this.#limits.slowMs) return;
    if (this.#slow.size >= MAX_REMEMBERED) this.#slow.delete(this.#slow.values().next().value!);
    this.#slow.add(endpointId);
  }

  #rememberSilence(endpointId: string, startedAt: number): void {
    const known = this.#silent.get(endpointId);
    if (known && startedAt <= known.since) return;
    const restMs = known ? Math.min(known.restMs * 2, MAX_REST_MS) : FIRST_REST_MS;
    if (!known && this.#silent.size >= MAX_SILENT) this.#silent.delete(this.#silent.keys().next().value!);
    this.#silent.set(endpointId, { since: this.#now(), restMs });
  }
}
