import { closeSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { isMachineFault } from '@gwk/core/process/machine-fault';
import {
  FileRefused,
  STARTED,
  ToolNotStarted,
  type ToolAnswer,
  type ToolJob,
  type ToolRefusal,
} from '@gwk/core/decoder/jobs';

/** First bytes of a raw stream of MPEG-1 or MPEG-2 video. */
const SEQUENCE_HEADER = 0x000001b3;

/** Runs one job in its own process (decoder/bin/tool.js). Ends with its process group when the parent exits. */
export async function main(argument: string | undefined): Promise<void> {
  process.stdin.on('end', endGroup).resume();
  process.stdout.write(STARTED);
  const job = JSON.parse(argument ?? '') as ToolJob;
  let answer: ToolAnswer | ToolRefusal;
  try {
    answer = await perform(job);
  } catch (error) {
    answer = toRefusal(error, () => closeSync(openSync(job.input, 'r')));
  }
  process.stdout.write(JSON.stringify(answer), () => process.exit(0));
}

/**
 * @param reopen opens the file. Libraries report a lack of file handles like a file of an unknown format
 * @throws every other error, which is a crash
 */
export function toRefusal(error: unknown, reopen: () => void): ToolRefusal {
  if (error instanceof ToolNotStarted) return { notRun: error.message };
  if (isMachineFault(error)) return { notRun: nameLack(error) };
  if (!(error instanceof FileRefused)) throw error;
  try {
    reopen();
  } catch (lack) {
    if (isMachineFault(lack)) return { notRun: nameLack(lack) };
  }
  return { refused: error.message };
}

const nameLack = (error: unknown): string => {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT'
    ? 'the disk is full'
    : `the decoder lacks a resource: ${code}`;
};

function endGroup(): void {
  process.kill(0, 'SIGKILL');
}

/** Loads only the modules that the job needs. */
async function perform(given: ToolJob): Promise<ToolAnswer> {
  const { input, output } = given;
  const isRaw = 'container' in given && given.container === 'mpeg' && (await isRawMpeg(input));
  const job = isRaw ? { ...given, container: 'mpegvideo' } : given;
  switch (job.tool) {
    case 'audio':
      return (await import('./audio.js')).readAudio(input, output, job);
    case 'video':
      return (await import('./film.js')).readFilm(input, output, job);
    case 'page':
      return { page: await (await import('./page.js')).readPage(input, job.charset) };
    case 'sticker':
      return (await import('./sticker.js')).readSticker(input, output, job);
    case 'gif':
      return readGif(input, output, job);
    case 'webp':
      return (await import('./animation.js')).readWebp(input, output, job);
    case 'image':
      return (await import('./pictures.js')).readImage(input, output, job);
    case 'thumbnail':
      return (await import('./pictures.js')).readPreviewPicture(input, output);
  }
}

/** MPEG video without the packets of a program stream has the same type. */
async function isRawMpeg(input: string): Promise<boolean> {
  await using file = await open(input, 'r');
  const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
  return buffer.readUInt32BE() === SEQUENCE_HEADER;
}

async function readGif(input: string, output: string, plan: { small?: true }): Promise<ToolAnswer> {
  const { openPicture, readImage } = await import('./pictures.js');
  const { pages = 1 } = (await openPicture(input, 'sharp')).metadata;
  if (pages === 1) return readImage(input, output, { ...plan, decoder: 'sharp' });
  return (await import('./film.js')).readFilm(input, output, { container: 'gif' });
}
