/** Decoding that an account may use at once. */
export const BUDGET_SECONDS = 60;
/** Time in which a used budget is available again. */
const WINDOW_MS = 600_000;
const MAX_UNPRUNED = 1_000;

/** Decoder seconds by account: a leaky bucket, which loses 6 s a minute. */
export class DecodingBudget {
  /** Accounts with an empty bucket are removed, so at most all accounts of the last 10 minutes are here. */
  readonly #used = new Map<string, { seconds: number; at: number }>();

  spend(accountId: string, seconds: number, now: number): void {
    this.#used.set(accountId, { seconds: this.used(accountId, now) + seconds, at: now });
    if (this.#used.size <= MAX_UNPRUNED) return;
    for (const id of this.#used.keys()) if (this.used(id, now) === 0) this.#used.delete(id);
  }

  used(accountId: string, now: number): number {
    const { seconds, at } = this.#used.get(accountId) ?? { seconds: 0, at: now };
    return Math.max(0, seconds - ((now - at) * BUDGET_SECONDS) / WINDOW_MS);
  }
}
