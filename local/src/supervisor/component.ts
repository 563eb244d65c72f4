import { setTimeout as pause } from 'node:timers/promises';
import { backoffDelay } from '@gwk/core/async/backoff';
import type { Running } from '../servers/process.js';

const BACKOFF = { firstMs: 1_000, maxMs: 30_000, jitter: 0 };
/** After a run of this length, the next exit counts as the first. */
const STABLE_AFTER_MS = 60_000;

export interface ComponentSpec<T extends Running = Running> {
  name: string;
  /** Resolves when it is ready, rejects if it cannot start. The signal cancels the start. */
  start(signal: AbortSignal): Promise<T>;
}

export class ComponentFailed extends Error {
  override name = 'ComponentFailed';
  constructor(component: string, reason: unknown) {
    super(`${component} did not start: ${reason instanceof Error ? reason.message : String(reason)}`, {
      cause: reason,
    });
  }
}

/** A supervised server or program, which is restarted whenever it exits by itself. */
export class Component<T extends Running = Running> {
  readonly #stopping = new AbortController();
  #starting: Promise<T> | undefined;
  #running: T | undefined;
  #startedAt = 0;
  #supervision: Promise<void> = Promise.resolve();

  constructor(
    readonly spec: ComponentSpec<T>,
    readonly log: (line: string) => void,
  ) {}

  /** @throws ComponentFailed */
  async start(): Promise<T> {
    try {
      this.#stopping.signal.throwIfAborted();
      this.#starting = this.spec.start(this.#stopping.signal);
      this.#running = await this.#starting;
      this.#startedAt = Date.now();
      if (!this.#stopping.signal.aborted) this.log(`${this.spec.name} is ready`);
      return this.#running;
    } catch (error) {
      throw new ComponentFailed(this.spec.name, error);
    }
  }

  /** Restarts the component from now on whenever it exits. */
  supervise(): void {
    this.#supervision = this.#supervise();
  }

  /** Stops the component, and cancels a start in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const running = await this.#starting?.catch(() => undefined);
    await running?.stop();
    await this.#supervision;
  }

  async #supervise(): Promise<void> {
    let exits = 0;
    while (this.#running) {
      const how = await this.#running.process.ended;
      if (this.#stopping.signal.aborted) return;
      this.#running = undefined;
      exits = countExitsInARow(exits, Date.now() - this.#startedAt);
      this.log(`${this.spec.name} exited (${how}); restarting in ${getRestartDelay(exits) / 1000} s`);
      exits = await this.#restart(exits);
    }
  }

  async #restart(exits: number): Promise<number> {
    for (let tries = exits; ; tries++) {
      await pause(getRestartDelay(tries), undefined, { signal: this.#stopping.signal }).catch(
        () => undefined,
      );
      if (this.#stopping.signal.aborted) return tries;
      try {
        await this.start();
        return tries;
      } catch (error) {
        if (this.#stopping.signal.aborted) return tries;
        this.log(`${(error as Error).message}\nretrying in ${getRestartDelay(tries + 1) / 1000} s`);
      }
    }
  }
}

/** Delay before the next restart. */
export function getRestartDelay(exitsInARow: number): number {
  return backoffDelay(BACKOFF, exitsInARow);
}

export function countExitsInARow(before: number, ranMs: number): number {
  return ranMs >= STABLE_AFTER_MS ? 1 : before + 1;
}
