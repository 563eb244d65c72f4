import pLimit, { type LimitFunction } from 'p-limit';
import {
  FileRefused,
  ToolNotStarted,
  type ToolAnswer,
  type ToolJob,
  type ToolRefusal,
} from '@gwk/core/decoder/jobs';

/**
 * Runs a job at once, and calls `onDecoding` when the decoder has its file.
 * @throws FileRefused; ToolNotStarted; the signal's reason
 */
export type RunJob = (
  job: ToolJob,
  folder: string,
  signal: AbortSignal,
  onDecoding?: () => void,
) => Promise<ToolAnswer | ToolRefusal>;

interface ToolsOptions {
  concurrency: number;
  runJob: RunJob;
}

/** Runs jobs, and no more at once than the limit. */
export class Tools {
  readonly #queue: LimitFunction;

  constructor(private readonly options: ToolsOptions) {
    this.#queue = pLimit(options.concurrency);
  }

  /** @throws FileRefused, also if the tool crashes or is killed at a limit; ToolNotStarted; the signal's reason */
  async run(...[job, folder, signal, onDecoding]: Parameters<RunJob>): Promise<ToolAnswer> {
    const answer = await this.#queue(() => {
      signal.throwIfAborted();
      return this.options.runJob(job, folder, signal, onDecoding);
    });
    if ('refused' in answer) throw new FileRefused(answer.refused);
    if ('notRun' in answer) throw new ToolNotStarted(answer.notRun);
    return answer;
  }
}
