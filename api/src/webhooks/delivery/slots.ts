interface Backoff {
  /** An unanswered call that started earlier does not extend the backoff. */
  since: number;
  delayMs: number;
}

const MAX_SLOW = 1_000;
/** Every claim passes all of them to Postgres. */
const MAX_UNRESPONSIVE = 200;
const MIN_BACKOFF_MS = 100;
/** Equals the first retry delay of a delivery. */
const MAX_BACKOFF_MS = 5_000;

/**
 * Limits the concurrent calls of one worker, in total and per endpoint. Failing and slow endpoints share half of the
 * slots, so healthy endpoints always find one.
 *
 * An endpoint that did not answer is not called during a backoff, and then with one call at a time until it answers. Each
 * further call without an answer doubles the backoff (docs/decisions/0021-back-off-from-unresponsive-webhook-endpoints.md).
 */
export class Slots {
  readonly #busy = new Map<string, number>();
  /** Endpoints whose last answer was slow. */
  readonly #slow = new Set<string>();
  /** Endpoints that did not answer their last call. */
  readonly #unresponsive = new Map<string, Backoff>();
  #taken = 0;
  #unhealthy = 0;

  constructor(
    private readonly limits: { total: number; perEndpoint: number; slowMs: number },
    private readonly now = (): number => performance.now(),
  ) {}

  get taken(): number {
    return this.#taken;
  }

  /** Capacity for one claim. */
  capacity() {
    const { total } = this.limits;
    const maxUnhealthy = Math.max(1, Math.floor(total / 2));
    return {
      /** Calls that count against the limit of each endpoint. */
      busy: this.#busyWithBackoff(),
      /** Endpoints whose last answer was slow. */
      slow: [...this.#slow],
      maxCalls: Math.max(0, total - this.#taken),
      /** Calls to failing and slow endpoints. */
      maxUnhealthyCalls: Math.max(0, maxUnhealthy - this.#unhealthy),
    };
  }

  /**
   * Takes a slot.
   * @returns a function that releases it. `answered`: by any HTTP answer; null: the call says nothing about the endpoint.
   */
  take(endpointId: string, failing: boolean) {
    const unhealthy = failing || this.#slow.has(endpointId);
    const startedAt = this.now();
    this.#taken += 1;
    if (unhealthy) this.#unhealthy += 1;
    this.#busy.set(endpointId, (this.#busy.get(endpointId) ?? 0) + 1);
    return ({ latencyMs, answered }: { latencyMs: number; answered: boolean | null }): void => {
      this.#taken -= 1;
      if (unhealthy) this.#unhealthy -= 1;
      const left = this.#busy.get(endpointId)! - 1;
      if (left > 0) this.#busy.set(endpointId, left);
      else this.#busy.delete(endpointId);
      this.#recordLatency(endpointId, latencyMs);
      if (answered === true) this.#unresponsive.delete(endpointId);
      else if (answered === false) this.#backOff(endpointId, startedAt);
    };
  }

  /** Counts running calls. During a backoff all slots of an endpoint count as busy, and after it all but one. */
  #busyWithBackoff(): ReadonlyMap<string, number> {
    if (this.#unresponsive.size === 0) return this.#busy;
    const busy = new Map(this.#busy);
    const now = this.now();
    const { perEndpoint } = this.limits;
    for (const [endpointId, { since, delayMs }] of this.#unresponsive) {
      const allowed = now - since < delayMs ? 0 : 1;
      busy.set(endpointId, perEndpoint - Math.max(0, allowed - (this.#busy.get(endpointId) ?? 0)));
    }
    return busy;
  }

  #recordLatency(endpointId: string, latencyMs: number): void {
    this.#slow.delete(endpointId);
    if (latencyMs < this.limits.slowMs) return;
    if (this.#slow.size >= MAX_SLOW) this.#slow.delete(this.#slow.values().next().value!);
    this.#slow.add(endpointId);
  }

  #backOff(endpointId: string, startedAt: number): void {
    const current = this.#unresponsive.get(endpointId);
    if (current && startedAt <= current.since) return;
    const delayMs = current ? Math.min(current.delayMs * 2, MAX_BACKOFF_MS) : MIN_BACKOFF_MS;
    if (!current && this.#unresponsive.size >= MAX_UNRESPONSIVE)
      this.#unresponsive.delete(this.#unresponsive.keys().next().value!);
    this.#unresponsive.set(endpointId, { since: this.now(), delayMs });
  }
}
