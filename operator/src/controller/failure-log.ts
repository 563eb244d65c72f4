import type { Logger } from '@gwk/core/process/log';

const REPEAT_MS = 60_000;

/**
 * Logs failed reconciles. Thousands of instances may fail for one reason, for example in a namespace whose role is gone.
 * Each namespace and kind of error has one line a minute, with the number of those left out.
 */
export class FailureLog {
  readonly #shown = new Map<string, { at: number; omitted: number }>();

  constructor(private readonly log: Logger) {}

  record(key: string, retryInMs: number, error: unknown): void {
    const { name, code } = error as Error & { code?: unknown };
    const kind = `${key.slice(0, key.indexOf('/'))} ${name} ${String(code)}`;
    const before = this.#shown.get(kind);
    const now = Date.now();
    if (before && now - before.at < REPEAT_MS) return void before.omitted++;
    for (const [other, { at }] of this.#shown) if (now - at >= REPEAT_MS) this.#shown.delete(other);
    this.#shown.set(kind, { at: now, omitted: 0 });
    this.log.warn(
      { instance: key, retry_in_ms: retryInMs, omitted: before?.omitted ?? 0, err: error },
      'reconcile failed; retrying',
    );
  }
}
