import { setTimeout as pause } from 'node:timers/promises';
import { endsInARow, restartDelay } from './backoff.js';

export interface Running {
  /** Resolves when it has ended, with how. */
  ended: Promise<string>;
  stop(): Promise<void>;
}

export interface PartSpec {
  name: string;
  /** Resolves when the part is ready, rejects when it cannot be; the signal gives it up. */
  start(signal: AbortSignal): Promise<Running>;
}

export class PartFailed extends Error {
  override name = 'PartFailed';
  constructor(part: string, reason: unknown) {
    super(`${part} did not start: ${reason instanceof Error ? reason.message : String(reason)}`, {
      cause: reason,
    });
  }
}

/** One server or program: started once, and again whenever it ends by itself. */
export class Part {
  readonly #stopping = new AbortController();
  #starting: Promise<Running> | undefined;
  #running: Running | undefined;
  #startedAt = 0;
  #kept: Promise<void> = Promise.resolve();

  constructor(
    readonly spec: PartSpec,
    readonly say: (line: string) => void,
  ) {}

  /** @throws PartFailed */
  async start(): Promise<void> {
    try {
      this.#stopping.signal.throwIfAborted();
      this.#starting = this.spec.start(this.#stopping.signal);
      this.#running = await this.#starting;
      this.#startedAt = Date.now();
      if (!this.#stopping.signal.aborted) this.say(`${this.spec.name} is ready`);
    } catch (error) {
      throw new PartFailed(this.spec.name, error);
    }
  }

  /** From now on the part is started again when it ends. */
  keep(): void {
    this.#kept = this.#keep();
  }

  /** Also gives up a start that is under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const running = await this.#starting?.catch(() => undefined);
    await running?.stop();
    await this.#kept;
  }

  async #keep(): Promise<void> {
    let ends = 0;
    while (this.#running) {
      const how = await this.#running.ended;
      if (this.#stopping.signal.aborted) return;
      this.#running = undefined;
      ends = endsInARow(ends, Date.now() - this.#startedAt);
      this.say(`${this.spec.name} ended (${how}); starting it again in ${restartDelay(ends) / 1000} s`);
      ends = await this.#startAgain(ends);
    }
  }

  async #startAgain(ends: number): Promise<number> {
    for (let tries = ends; ; tries++) {
      await pause(restartDelay(tries), undefined, { signal: this.#stopping.signal }).catch(() => undefined);
      if (this.#stopping.signal.aborted) return tries;
      try {
        await this.start();
        return tries;
      } catch (error) {
        if (this.#stopping.signal.aborted) return tries;
        this.say(`${(error as Error).message}\ntrying again in ${restartDelay(tries + 1) / 1000} s`);
      }
    }
  }
}
