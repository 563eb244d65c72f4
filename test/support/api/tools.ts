import type { Isolation } from '@gwk/api/media/tools/isolation';
import { runJobProcess, type JobLimits } from '@gwk/api/media/tools/job-process';
import { Tools } from '@gwk/api/media/tools/run';

const NO_ISOLATION: Isolation = { kind: 'none', user: null, prefix: () => [] };

interface ToolsOptions extends JobLimits {
  concurrency: number;
  ffmpeg: string | null;
  isolation?: Isolation;
}

/** Tools whose jobs are processes of this one, by default without isolation. */
export function openTools({ concurrency, isolation = NO_ISOLATION, ...limits }: ToolsOptions): Tools {
  return new Tools({
    concurrency,
    runJob: (job, folder, signal) => runJobProcess(job, folder, signal, { ...limits, isolation }),
  });
}
