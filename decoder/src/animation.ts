import { Readable } from 'node:stream';
import ffmpeg from 'fluent-ffmpeg';
import sharp, { type Metadata } from 'sharp';
import { LIMITED, rawInput } from './ffmpeg-input.js';
import { describeFilm, encodeVideo } from './film.js';
import { chooseFps, encodedSize } from './film-plan.js';
import { FileRefused, MAX_PIXELS, type ToolAnswer } from '@gwk/core/decoder/jobs';
import { openPicture, readImage, refuseErrors, WHITE } from './pictures.js';
import { checkDuration } from './probe.js';
import { runFfmpeg } from './run-ffmpeg.js';

/** Pixels of all pictures of an animation. More than fit into memory are shrunk as they are read. */
const MAX_ALL_PIXELS = 10 * MAX_PIXELS;
/** Browsers show a picture with a shorter time for 100 ms. */
const MIN_DELAY_MS = 11;
const USUAL_DELAY_MS = 100;

/** Makes a looping film of an animated WebP. ffmpeg cannot read one. A still one becomes a JPEG, unless a film is asked for. */
export async function readWebp(
  input: string,
  output: string,
  { film, ...plan }: { film: boolean; small?: true },
): Promise<ToolAnswer> {
  const { metadata } = await openPicture(input, 'sharp');
  if ((metadata.pages ?? 1) > 1) return convert(input, output, metadata);
  if (film) throw new FileRefused('the file has no video');
  return readImage(input, output, { ...plan, decoder: 'sharp' });
}

async function convert(input: string, output: string, metadata: Metadata): Promise<ToolAnswer> {
  const { width, height, pages = 1 } = metadata;
  const pixels = width * height * pages;
  if (pixels > MAX_ALL_PIXELS) {
    throw new FileRefused(
      `the animation has ${pages} pictures of ${width}x${height} pixels, more than 500,000,000`,
    );
  }
  const delays = readDelays(metadata);
  const seconds = delays.reduce((sum, delay) => sum + delay, 0) / 1_000;
  checkDuration(seconds, 'video');
  const shrink = Math.min(1, Math.sqrt(MAX_PIXELS / pixels));
  const size = encodedSize({ width: width * shrink, height: height * shrink });
  const fps = chooseFps(delays);
  const data = await readPictures(input, size);
  const command = ffmpeg({ source: Readable.from(repeat(data, delays, fps)) })
    .inputOptions(rawInput(size, fps))
    .output(`file:${output}`)
    .outputOptions('-threads', '1', '-movflags', '+faststart')
    .format('mp4');
  command.setFfmpegPath(LIMITED);
  encodeVideo(command, { size, seconds, isHdr: false, isGif: false });
  await runFfmpeg(command);
  return { ...(await describeFilm(output, output, size)), converted: true, mimetype: 'video/mp4', gif: true };
}

const readDelays = ({ pages = 1, delay = [] }: Metadata): number[] =>
  Array.from({ length: pages }, (_, at) => {
    const ms = delay[at] ?? 0;
    return ms < MIN_DELAY_MS ? USUAL_DELAY_MS : ms;
  });

/** RGB of all pictures, one after the other. */
function readPictures(input: string, { width, height }: { width: number; height: number }): Promise<Buffer> {
  const pictures = sharp(input, { limitInputPixels: false, failOn: 'truncated', animated: true });
  return refuseErrors(
    pictures
      .resize(width, height, { fit: 'fill' })
      .flatten({ background: WHITE })
      .toColourspace('srgb')
      .raw()
      .toBuffer(),
  );
}

/** Repeats each picture for its time. */
function* repeat(data: Buffer, delays: readonly number[], fps: number): Generator<Buffer> {
  const bytes = data.length / delays.length;
  let ticks = 0;
  let end = 0;
  for (const [at, delay] of delays.entries()) {
    end += delay;
    for (; (ticks * 1_000) / fps < end; ticks++) yield data.subarray(at * bytes, (at + 1) * bytes);
  }
}
