import { setTimeout as pause } from 'node:timers/promises';

const FIRST_DELAY_MS = 1_000;
const MAX_DELAY_MS = 30_000;
/** After a run of this length, the next exit counts as the first. */
const STABLE_AFTER_MS = 60_000;

export interface Running {
  /** Resolves with a description when it has exited. */
  ended: Promise<string>;
  stop(): Promise<void>;
}

export interface ComponentSpec {
  name: string;
  /** Resolves when it is ready, rejects if it cannot start. The signal cancels the start. */
  start(signal: AbortSignal): Promise<Running>;
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
export class Component {
  readonly #stopping = new AbortController();
  #starting: Promise<Running> | undefined;
  #running: Running | undefined;
  #startedAt = 0;
  #supervision: Promise<void> = Promise.resolve();

  constructor(
    readonly spec: ComponentSpec,
    readonly log: (line: string) => void,
  ) {}

  /** @throws ComponentFailed */
  async start(): Promise<void> {
    try {
      this.#stopping.signal.throwIfAborted();
      this.#starting = this.spec.start(this.#stopping.signal);
      this.#running = await this.#starting;
      this.#startedAt = Date.now();
      if (!this.#stopping.signal.aborted) this.log(`${this.spec.name} is ready`);
    } catch (error) {
      throw new ComponentFailed(this.spec.name, error);
    }
  }

  /** Restarts the component from now on whenever it exits. */
  supervise(): void {
    this.#supervision = this.#supervise();
  }

  /** Also cancels a start in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const running = await this.#starting?.catch(() => undefined);
    await running?.stop();
    await this.#supervision;
  }

  async #supervise(): Promise<void> {
    let exits = 0;
    while (this.#running) {
      const how = await this.#running.ended;
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
  return Math.min(FIRST_DELAY_MS * 2 ** (exitsInARow - 1), MAX_DELAY_MS);
}

export function countExitsInARow(before: number, ranMs: number): number {
  return ranMs >= STABLE_AFTER_MS ? 1 : before + 1;
}
