import { FileRefused, ToolNotStarted, type ToolAnswer, type ToolJob, type ToolRefusal } from './jobs.js';

/** Runs one job in its own process (api/bin/media-tool.js). Kills its process group when the parent exits. */
export async function main(argument: string | undefined): Promise<void> {
  process.stdin.on('end', () => process.kill(0, 'SIGKILL')).resume();
  let answer: ToolAnswer | ToolRefusal;
  try {
    answer = await perform(JSON.parse(argument ?? '') as ToolJob);
  } catch (error) {
    if (error instanceof FileRefused) answer = { refused: error.message };
    else if (error instanceof ToolNotStarted) answer = { notRun: error.message };
    else throw error;
  }
  process.stdout.write(JSON.stringify(answer), () => process.exit(0));
}

/** Loads only the modules that the job needs. */
async function perform(job: ToolJob): Promise<ToolAnswer> {
  if (job.tool === 'audio' || job.tool === 'video') {
    const { readAudio, readVideo } = await import('./ffmpeg.js');
    if (job.tool === 'audio') return readAudio(job.input, job.container, job);
    const { readThumbnail } = await import('./pictures.js');
    const metadata = await readVideo(job.input, job.container, job.output);
    return { ...metadata, ...(await readThumbnail(job.output)) };
  }
  const { readImage, readSticker, readThumbnail } = await import('./pictures.js');
  if (job.tool === 'image') return readImage(job.input, job.output, job.keep);
  return job.tool === 'sticker' ? readSticker(job.input) : readThumbnail(job.input);
}
