import type { ToolAnswer, ToolJob, ToolRefusal } from './jobs.js';
import { NotRun, Refused } from './refused.js';

/** One job in a process of its own (api/bin/media-tool.js). It ends, with all it started, when its parent does. */
export async function main(argument: string | undefined): Promise<void> {
  process.stdin.on('end', () => process.kill(0, 'SIGKILL')).resume();
  let answer: ToolAnswer | ToolRefusal;
  try {
    answer = await perform(JSON.parse(argument ?? '') as ToolJob);
  } catch (error) {
    if (error instanceof Refused) answer = { refused: error.message };
    else if (error instanceof NotRun) answer = { notRun: error.message };
    else throw error;
  }
  process.stdout.write(JSON.stringify(answer), () => process.exit(0));
}

/** Only what the job needs is loaded. */
async function perform(job: ToolJob): Promise<ToolAnswer> {
  if (job.tool === 'audio' || job.tool === 'video') {
    const { readAudio, readVideo } = await import('./ffmpeg.js');
    if (job.tool === 'audio') return readAudio(job.input, job.container, job);
    const { readThumbnail } = await import('./pictures.js');
    const seen = await readVideo(job.input, job.container, job.thumbnail);
    return { ...seen, ...(await readThumbnail(job.thumbnail)) };
  }
  const { readImage, readSticker, readThumbnail } = await import('./pictures.js');
  if (job.tool === 'image') return readImage(job.input, job.output, job.keep);
  return job.tool === 'sticker' ? readSticker(job.input) : readThumbnail(job.input);
}
