import type { Isolation } from '@gwk/decoder/isolation';
import { runJobProcess } from '@gwk/decoder/job-process';
import type { JobLimits } from '@gwk/core/decoder/jobs';
import { Tools } from '@gwk/api/media/prepare/tools';

/** For the tests of the decoder, which may not import the API. */
export { decoderJobs } from '@gwk/api/media/prepare/decoder-client';

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
    runJob: (job, folder, signal, onDecoding) => {
      onDecoding?.();
      return runJobProcess(job, folder, signal, { ...limits, isolation });
    },
  });
}
