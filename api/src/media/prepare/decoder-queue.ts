import { processClock, type Cancel, type Clock } from '@gwk/core/clock';
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
  /** Null: the job still reads its file, or waits for the decoder. */
  decodingSince: number | null;
  isLong: boolean;
  interruption: AbortController;
  cancelChecks: Cancel[];
}

interface WaitingJob {
  accountId: string;
  isLong: boolean;
  start: (running: RunningJob) => void;
}

/**
 * A job that decodes longer gives its decoder to a waiting job that has not run yet. `shared`: of an account with other jobs,
 * which run or wait.
 */
export const SHORT_MS = { alone: 3_000, shared: 1_000 } as const;

/**
 * Grants the decoders of a worker to accounts. The account with the fewest running jobs is next, then the one that has
 * decoded least. An account over its budget of decoder seconds is behind all others. An interrupted run counts for the
 * order, and not for the budget.
 *
 * A job is long once it was interrupted for another one. Long jobs leave one decoder for jobs that have not run yet, and
 * are not interrupted again. With one decoder, a long job holds it to its end.
 */
export class DecoderQueue {
  readonly #waiting: WaitingJob[] = [];
  readonly #running = new Set<RunningJob>();
  readonly #budget = new DecodingBudget();
  /** Decoder seconds with those of interrupted runs. */
  readonly #decoded = new DecodingBudget();
  readonly #clock: Clock;

  constructor(private readonly options: DecoderQueueOptions) {
    this.#clock = options.clock ?? processClock;
  }

  /**
   * @param job calls `onDecoding` once when its decoding begins. It is called again with another signal if its first run was
   * interrupted
   * @throws the signal's reason if it aborts before the job starts; the error of the job
   */
  async run<T>(
    accountId: string,
    signal: AbortSignal,
    job: (signal: AbortSignal, onDecoding: () => void) => Promise<T>,
  ): Promise<T> {
    for (let isLong = false; ; isLong = true) {
      const running = await this.#wait({ accountId, isLong }, signal);
      const interrupted = running.interruption.signal;
      try {
        return await job(AbortSignal.any([signal, interrupted]), () => this.#noteDecoding(running));
      } catch (error) {
        if (!interrupted.aborted || signal.aborted) throw error;
      } finally {
        this.#end(running);
        this.#startNext();
      }
    }
  }

  #wait(job: Pick<WaitingJob, 'accountId' | 'isLong'>, signal: AbortSignal): Promise<RunningJob> {
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
      const waiting = { ...job, start };
      signal.addEventListener('abort', abort);
      this.#waiting.push(waiting);
      this.#startNext();
    });
  }

  #startNext(): void {
    while (this.#running.size < this.options.decoders) {
      const next = chooseNext(this.#describeWaiting());
      if (next === null) return;
      const [{ accountId, isLong, start }] = this.#waiting.splice(next, 1) as [WaitingJob];
      const job = {
        accountId,
        isLong,
        decodingSince: null,
        interruption: new AbortController(),
        cancelChecks: [],
      };
      this.#running.add(job);
      start(job);
    }
    this.#interruptForWaiting();
  }

  #noteDecoding(job: RunningJob): void {
    job.decodingSince = this.#clock.now();
    job.cancelChecks = Object.values(SHORT_MS).map((ms) =>
      this.#clock.after(ms, () => this.#interruptForWaiting()),
    );
  }

  /** If all decoders have long jobs, interrupts the newest one for a job that has not run yet. */
  #interruptForWaiting(): void {
    const running = [...this.#running];
    if (running.length < this.options.decoders || !running.every((job) => this.#hasRunLong(job))) return;
    if (running.some(({ interruption }) => interruption.signal.aborted)) return;
    const shorts = this.#describeWaiting().map((job) => ({ ...job, mayRun: !job.isLong }));
    if (chooseNext(shorts) === null) return;
    const newest = running.findLast(({ isLong }) => !isLong);
    newest?.interruption.abort(new Error('a shorter job needs the decoder'));
  }

  #describeWaiting(): WaitingChoice[] {
    const now = this.#clock.now();
    const running = Map.groupBy(this.#running, ({ accountId }) => accountId);
    const longs = [...this.#running].filter(({ isLong }) => isLong).length;
    return this.#waiting.map(({ accountId, isLong }) => {
      const own = running.get(accountId) ?? [];
      const runningSeconds = own.reduce((sum, job) => sum + this.#countSeconds(job), 0);
      const isOver = this.#budget.used(accountId, now) + runningSeconds > BUDGET_SECONDS;
      return {
        ...{ isLong, isOver, used: this.#decoded.used(accountId, now) + runningSeconds, running: own.length },
        runningAlike: own.filter((job) => this.#hasRunLong(job) === isLong).length,
        mayRun: !isLong || longs < Math.max(1, this.options.decoders - 1),
      };
    });
  }

  #hasRunLong(job: RunningJob): boolean {
    const { isLong, accountId } = job;
    const isAlone = [...this.#waiting, ...this.#running].every(
      (other) => other === job || other.accountId !== accountId,
    );
    return isLong || 1000 * this.#countSeconds(job) >= (isAlone ? SHORT_MS.alone : SHORT_MS.shared);
  }

  #countSeconds({ decodingSince }: RunningJob): number {
    return decodingSince === null ? 0 : (this.#clock.now() - decodingSince) / 1000;
  }

  #end(job: RunningJob): void {
    const { accountId, interruption, cancelChecks } = job;
    for (const cancel of cancelChecks) cancel();
    this.#running.delete(job);
    const now = this.#clock.now();
    const seconds = this.#countSeconds(job);
    const wasOver = this.#budget.used(accountId, now) > BUDGET_SECONDS;
    this.#decoded.spend(accountId, seconds, now);
    if (!interruption.signal.aborted) this.#budget.spend(accountId, seconds, now);
    const isOver = this.#budget.used(accountId, now) > BUDGET_SECONDS;
    this.options.onDecoded?.({ accountId, seconds, wasOver, isOver });
  }
}

interface WaitingChoice {
  mayRun: boolean;
  /** Running jobs of the account. */
  running: number;
  /** Those of them that are long, or short, like this job. */
  runningAlike: number;
  /** Decoder seconds of the account, with interrupted runs. */
  used: number;
  isOver: boolean;
  isLong: boolean;
}

/** @returns the position of the job to start, of jobs in order of arrival; null: none may start */
export function chooseNext(waiting: readonly WaitingChoice[]): number | null {
  const rank = (job: WaitingChoice) => [Number(job.isOver), job.running, job.used, Number(job.isLong)];
  const choices = waiting
    .map((job, place) => ({ ...job, place, rank: [...rank(job), place] }))
    .filter(({ mayRun, isOver, runningAlike }) => mayRun && (!isOver || runningAlike === 0));
  const before = (one: number[], other: number[]): number => {
    const at = one.findIndex((value, index) => value !== other[index]);
    return at === -1 ? 0 : one[at]! - other[at]!;
  };
  return choices.toSorted((one, other) => before(one.rank, other.rank))[0]?.place ?? null;
}
