/**
 * The places that calls in flight take in one worker: so many in all, so many to one destination. Destinations that
 * fail or answer slowly share half of them, so that however many of those there are, the others find room.
 */
export interface SlotLimits {
  total: number;
  perDestination: number;
  slowMs: number;
}

const MAX_REMEMBERED = 1_000;

export class Slots {
  readonly #limits: SlotLimits;
  readonly #busy = new Map<string, number>();
  /** Those whose last answer took long. */
  readonly #slow = new Set<string>();
  #taken = 0;
  #doubtful = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  get taken(): number {
    return this.#taken;
  }

  /** What a claim may take. */
  room(): { busy: ReadonlyMap<string, number>; slow: readonly string[]; most: number; mostDoubtful: number } {
    const { total } = this.#limits;
    const doubtful = Math.max(1, Math.floor(total / 2));
    return {
      busy: this.#busy,
      slow: [...this.#slow],
      most: Math.max(0, total - this.#taken),
      mostDoubtful: Math.max(0, doubtful - this.#doubtful),
    };
  }

  /** @returns what gives the place back, told how long the call took */
  take(endpointId: string, failing: boolean): (latencyMs: number) => void {
    const doubtful = failing || this.#slow.has(endpointId);
    this.#taken += 1;
    if (doubtful) this.#doubtful += 1;
    this.#busy.set(endpointId, (this.#busy.get(endpointId) ?? 0) + 1);
    return (latencyMs) => {
      this.#taken -= 1;
      if (doubtful) this.#doubtful -= 1;
      const left = this.#busy.get(endpointId)! - 1;
      if (left > 0) this.#busy.set(endpointId, left);
      else this.#busy.delete(endpointId);
      this.#remember(endpointId, latencyMs);
    };
  }

  #remember(endpointId: string, latencyMs: number): void {
    this.#slow.delete(endpointId);
    if (latencyMs < this.#limits.slowMs) return;
    if (this.#slow.size >= MAX_REMEMBERED) this.#slow.delete(this.#slow.values().next().value!);
    this.#slow.add(endpointId);
  }
}
