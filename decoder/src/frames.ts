import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { FileRefused } from '@gwk/core/decoder/jobs';
import { checkCost, checkPictures, probe, shownSize } from './probe.js';
import { openInput, runFfmpeg } from './run-ffmpeg.js';

const CHANNELS = 4;

export interface Frames {
  /** RGBA, one frame after the other. */
  data: Buffer;
  width: number;
  height: number;
  count: number;
}

interface FilmOptions {
  /** Longest side; larger pictures shrink. */
  side: number;
  fps: number;
  seconds: number;
}

/** Decodes the first pictures of a film to memory. Null: the file is one picture. */
export async function readFrames(
  input: string,
  container: string,
  film: FilmOptions | null,
): Promise<Frames> {
  const { side = Infinity, fps, seconds } = film ?? {};
  const probed = await probe(input, container);
  const video = checkPictures(probed, film ? 'video' : 'picture');
  if (film) checkCost(container, video, Math.min(film.seconds, probed.seconds ?? Infinity));
  const shown = shownSize(video);
  const scale = Math.min(1, side / Math.max(shown.width, shown.height));
  const [width, height] = [shown.width, shown.height].map((length) =>
    Math.max(1, Math.round(length * scale)),
  ) as [number, number];
  const pixels = new PassThrough({ emitClose: false });
  const command = openInput(input, container, 'video', seconds)
    .output(pixels, { end: true })
    .outputOptions('-map', `0:${video.index}`, '-pix_fmt', 'rgba')
    .noAudio()
    .videoFilters([...(film ? [`fps=${fps}`] : []), `scale=${width}:${height}`, 'format=rgba'])
    .videoCodec('rawvideo')
    .format('rawvideo')
    // The filter repeats a picture until the time of the next one.
    .outputOptions('-frames:v', String(film ? film.fps * film.seconds : 1));
  const [data] = await Promise.all([buffer(pixels), runFfmpeg(command)]);
  const count = Math.floor(data.length / (width * height * CHANNELS));
  if (count === 0) throw new FileRefused('the file has no video');
  return { data, width, height, count };
}
