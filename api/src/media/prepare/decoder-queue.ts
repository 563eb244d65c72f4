import { processClock, type Clock } from '@gwk/core/clock';
import { BUDGET_SECONDS, DecodingBudget } from './decoding-budget.js';

interface DecoderQueueOptions {
  /** Decoders of this worker. */
  decoders: number;
  /** Called after each job. */
  onDecoded?: (job: DecodedJob) => void;
  clock?: Clock;
}

interface DecodedJob {
  accountId: string;
  seconds: number;
  /** The account had used its budget before this job. */
  wasOver: boolean;
  isOver: boolean;
}

interface RunningJob {
  accountId: string;
  startedAt: number;
}

interface WaitingJob {
  accountId: string;
  start: (running: RunningJob) => void;
}

/**
 * Grants the decoders of a worker to accounts. The account with the fewest running jobs is next. An account over its budget
 * of decoder seconds is behind all others and runs one job at a time, so that a decoder is free for the next account.
 */
export class DecoderQueue {
  readonly #waiting: WaitingJob[] = [];
  readonly #running = new Set<RunningJob>();
  readonly #budget = new DecodingBudget();
  readonly #clock: Clock;

  constructor(private readonly options: DecoderQueueOptions) {
    this.#clock = options.clock ?? processClock;
  }

  /** @throws the signal's reason if it aborts before the job starts; the error of the job */
  async run<T>(accountId: string, signal: AbortSignal, job: () => Promise<T>): Promise<T> {
    const running = await this.#wait(accountId, signal);
    try {
      return await job();
    } finally {
      this.#end(running);
      this.#startNext();
    }
  }

  #wait(accountId: string, signal: AbortSignal): Promise<RunningJob> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const abort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal.reason as Error);
      };
      const start = (running: RunningJob): void => {
        signal.removeEventListener('abort', abort);
        resolve(running);
      };
      const waiting = { accountId, start };
      signal.addEventListener('abort', abort);
      this.#waiting.push(waiting);
      this.#startNext();
    });
  }

  #startNext(): void {
    while (this.#running.size < this.options.decoders) {
      const running = Map.groupBy(this.#running, ({ accountId }) => accountId);
      const next = chooseNext(
        this.#waiting.map(({ accountId }) => ({
          running: running.get(accountId)?.length ?? 0,
          isOver: this.#isOver(accountId),
        })),
      );
      if (next === null) return;
      const [{ accountId, start }] = this.#waiting.splice(next, 1) as [WaitingJob];
      const job = { accountId, startedAt: this.#clock.now() };
      this.#running.add(job);
      start(job);
    }
  }

  #end(job: RunningJob): void {
    const { accountId, startedAt } = job;
    this.#running.delete(job);
    const now = this.#clock.now();
    const seconds = (now - startedAt) / 1000;
    const wasOver = this.#budget.used(accountId, now) > BUDGET_SECONDS;
    this.#budget.spend(accountId, seconds, now);
    const isOver = this.#budget.used(accountId, now) > BUDGET_SECONDS;
    this.options.onDecoded?.({ accountId, seconds, wasOver, isOver });
  }

  /** Counts running jobs up to now. */
  #isOver(accountId: string): boolean {
    const now = this.#clock.now();
    let seconds = this.#budget.used(accountId, now);
    for (const job of this.#running) {
      if (job.accountId === accountId) seconds += (now - job.startedAt) / 1000;
    }
    return seconds > BUDGET_SECONDS;
  }
}

/** @returns the position of the job to start, of jobs in order of arrival; null: none may start */
export function chooseNext(waiting: readonly { running: number; isOver: boolean }[]): number | null {
  const rank = ({ running, isOver }: { running: number; isOver: boolean }): number =>
    isOver ? (running === 0 ? Number.MAX_SAFE_INTEGER : Infinity) : running;
  let best = { place: null as number | null, rank: Infinity };
  waiting.forEach((job, place) => {
    if (rank(job) < best.rank) best = { place, rank: rank(job) };
  });
  return best.place;
}
