import { statSync } from 'node:fs';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import type { FfmpegCommand } from 'fluent-ffmpeg';
import { chooseKbps, encodedSize, planFilm, thumbnailSize, type FilmPlan } from './film-plan.js';
import { FileRefused, type ToolAnswer } from '@gwk/core/decoder/jobs';
import { readMp4Layout } from './mp4-layout.js';
import { readThumbnail } from './pictures.js';
import { checkCost, checkDuration, checkPictures, probe, shownSize, type ProbedFile } from './probe.js';
import { reportProgress } from './progress.js';
import { NO_FILTER, openInput, runFfmpeg } from './run-ffmpeg.js';

const MP4 = 'video/mp4';
const MAX_AUDIO_RATE = 48_000;
const MAX_FPS = 60;
/** Time in which a picture that is not black is sought. */
const THUMBNAIL_SECONDS = 30;

/**
 * Converts a film to MP4 as phones play it, unless it is one. A GIF becomes a film that the apps play in a loop.
 * @param plan `round`: a film that is not square is cut to its middle
 */
export async function readFilm(
  input: string,
  output: string,
  { container, round = false }: { container: string; round?: boolean },
): Promise<ToolAnswer> {
  const isGif = container === 'gif';
  const probed = await probe(input, container);
  const video = checkPictures(probed);
  checkDuration(probed.seconds, 'video');
  const layout = container === 'mov' ? await readMp4Layout(input) : null;
  const shown = shownSize(video);
  const isCut = round && shown.width !== shown.height;
  const plan = planFilm(container, probed, layout, isCut);
  if (plan?.video === 'encode') checkCost(container, video, probed.seconds);
  if (plan !== null) await convert({ input, output, container, isCut }, plan, probed);
  const film = plan === null ? input : output;
  const size = resultSize(shown, plan, isCut);
  return {
    ...(await describeFilm(film, output, size)),
    ...(plan !== null && { converted: true, mimetype: MP4 }),
    ...(isGif && !round && { gif: true }),
  };
}

interface Size {
  width: number;
  height: number;
}

function resultSize(shown: Size, plan: FilmPlan | null, isCut: boolean): Size {
  if (plan?.video !== 'encode') return shown;
  const size = encodedSize(shown);
  const side = Math.min(size.width, size.height);
  return isCut ? { width: side, height: side } : size;
}

/** Describes an MP4. A damaged or raw stream may state a wrong duration, so the result of a conversion is probed. */
export async function describeFilm(film: string, output: string, size: Size): Promise<ToolAnswer> {
  const { seconds } = await probe(film, 'mov');
  return {
    ...size,
    ...(seconds !== null && { duration_s: Math.max(1, Math.round(seconds)) }),
    ...(await makeThumbnail(film, `${output}.jpg`, size)),
  };
}

interface Files {
  input: string;
  output: string;
  container: string;
  isCut: boolean;
}

async function convert(files: Files, plan: FilmPlan, probed: ProbedFile): Promise<void> {
  const isHdr = plan.video === 'encode' && probed.video!.isHdr;
  try {
    await runFfmpeg(conversion(files, plan, probed, isHdr));
  } catch (error) {
    // Without the filters for HDR the colours are pale.
    if (!isHdr || !(error instanceof FileRefused) || error.message !== NO_FILTER) throw error;
    await runFfmpeg(conversion(files, plan, probed, false));
  }
  const { size = 0 } = statSync(files.output, { throwIfNoEntry: false }) ?? {};
  if (size === 0) throw new FileRefused('the file has no video');
  if (size > MAX_MEDIA_BYTES) throw new FileRefused('the video is too long to be sent');
}

function conversion(
  { input, output, container, isCut }: Files,
  plan: FilmPlan,
  { video, audio, seconds }: ProbedFile,
  isHdr: boolean,
): FfmpegCommand {
  const command = openInput(input, container, 'video').output(`file:${output}`);
  command.outputOptions('-map', `0:${video!.index}`, '-movflags', '+faststart').format('mp4');
  if (plan.video === 'copy') command.videoCodec('copy');
  else
    encodeVideo(command, {
      size: encodedSize(shownSize(video!)),
      seconds,
      isHdr,
      isGif: container === 'gif',
      isCut,
    });
  if (plan.audio !== null) command.outputOptions('-map', `0:${audio!.index}`);
  if (plan.audio === 'copy') command.audioCodec('copy');
  if (plan.audio === 'encode') {
    command
      .audioCodec('aac')
      .audioBitrate(chooseKbps(seconds).audio)
      .audioChannels(Math.min(2, audio!.channels));
    if (audio!.rate > MAX_AUDIO_RATE) command.audioFrequency(MAX_AUDIO_RATE);
  }
  return command.on('progress', ({ timemark }: { timemark: string }) => reportProgress(timemark, seconds));
}

interface Encoding {
  size: Size;
  seconds: number | null;
  isHdr: boolean;
  isGif: boolean;
  /** Whether to cut the film of this size to its middle. */
  isCut?: boolean;
}

export function encodeVideo(
  command: FfmpegCommand,
  { size, seconds, isHdr, isGif, isCut = false }: Encoding,
): void {
  const { video: kbps } = chooseKbps(seconds);
  const { width, height } = size;
  const filters = [
    ...(isGif ? ON_WHITE : []),
    isHdr ? `zscale=w=${width}:h=${height}:t=linear:npl=100` : `scale=${width}:${height}`,
    ...(isCut ? [`crop=${Math.min(width, height)}:${Math.min(width, height)}`] : []),
    ...(isHdr ? TO_SDR : []),
    'setsar=1',
    'format=yuv420p',
  ];
  command
    .videoCodec('libx264')
    .videoFilters(filters)
    .outputOptions('-preset', 'veryfast', '-profile:v', 'high', '-crf', '23', '-pix_fmt', 'yuv420p')
    .outputOptions('-maxrate', `${kbps}k`, '-bufsize', `${2 * kbps}k`)
    // Films of changing rate keep their times.
    .outputOptions('-fps_mode', 'vfr', '-fpsmax', String(MAX_FPS));
}

/** Colours times opacity, on the inverse: transparent pixels become white. */
const ON_WHITE = ['format=gbrap', 'negate', 'premultiply=inplace=1', 'negate'];
const TO_SDR = ['format=gbrpf32le', 'zscale=p=bt709', 'tonemap=hable:desat=0', 'zscale=t=bt709:m=bt709:r=tv'];

/** Takes the first picture that is not black, else the first. */
async function makeThumbnail(
  film: string,
  picture: string,
  shown: Size,
): Promise<Pick<ToolAnswer, 'thumbnail'>> {
  const { width, height } = thumbnailSize(shown);
  const command = openInput(film, 'mov', 'video', THUMBNAIL_SECONDS);
  const scale = `scale=${width}:${height},setsar=1`;
  const bright = 'blackframe=0:32,metadata=select:key=lavfi.blackframe.pblack:value=95:function=less';
  for (const [path, filter] of [
    [picture, `${scale},${bright}`],
    [`${picture}.first`, scale],
  ] as const) {
    command.output(`file:${path}`).noAudio().format('mjpeg').videoFilters(filter);
    command.outputOptions('-map', '0:v:0', '-frames:v', '1', '-map_metadata', '-1');
  }
  await runFfmpeg(command);
  const found = [picture, `${picture}.first`].find((path) => statSync(path, { throwIfNoEntry: false })?.size);
  if (found === undefined) throw new FileRefused('the file cannot be decoded');
  return readThumbnail(found);
}
