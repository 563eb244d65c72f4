import { statSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import ffmpeg, { type FfmpegCommand } from 'fluent-ffmpeg';
import { THUMBNAIL_WIDTH, type ToolAnswer } from './jobs.js';
import { NotRun, Refused } from './refused.js';
import { Loudness, PCM_RATE } from './waveform.js';

/**
 * The one file that knows fluent-ffmpeg. ffmpeg is told the container that the content was sniffed to be (`-f`), so
 * that no playlist or script is ever taken for a film, and may open files and pipes alone; api/bin/run-limited bounds it.
 */
const LIMITED = fileURLToPath(new URL('../../../bin/run-limited', import.meta.url));
const MAX_PIXELS = 50_000_000;
const VOICE_RATE = 48_000;

function open(input: string, container: string): FfmpegCommand {
  const command = ffmpeg({ source: `file:${input}`, stdoutLines: 200 });
  command.setFfmpegPath(LIMITED);
  return command
    .inputFormat(container)
    .inputOptions('-y', '-nostdin', '-protocol_whitelist', 'file,pipe', '-threads', '1')
    .inputOptions('-max_pixels', String(MAX_PIXELS))
    .outputOptions('-threads', '1', '-map_metadata', '-1');
}

/** What is said of the input before the first output. */
interface CodecData {
  duration?: string;
  video?: string;
  video_details?: string[];
  audio?: string;
}

function run(command: FfmpegCommand): Promise<CodecData> {
  return new Promise((resolve, reject) => {
    let told: CodecData = {};
    command.on('codecData', (data: CodecData) => (told = data));
    command.on('end', () => resolve(told));
    command.on('error', (error) => reject(failure(error)));
    command.run();
  });
}

/** env(1) exits so when it cannot start what it is given; ffmpeg itself never does. */
const NOT_STARTED = /^ffmpeg exited with code (126|127)\b/;

/** What ffmpeg says may quote the file: it goes no further. */
function failure(error: NodeJS.ErrnoException): Error {
  const [, code = error.code] = NOT_STARTED.exec(error.message) ?? [];
  return code === undefined ? new Refused('the file cannot be decoded') : new NotRun(`ffmpeg: ${code}`);
}

/** Checks that there is a film in the file, and takes a small picture of its beginning. */
export async function readVideo(input: string, container: string, thumbnail: string): Promise<ToolAnswer> {
  const command = open(input, container)
    .output(`file:${thumbnail}`)
    .outputOptions('-map', '0:v:0', '-frames:v', '1')
    .videoFilters(`scale=${THUMBNAIL_WIDTH}:-2`)
    .noAudio()
    .format('mjpeg');
  const told = await run(command);
  if (!statSync(thumbnail, { throwIfNoEntry: false })?.size)
    throw new Refused('there is no film in the file');
  const [, width, height] = /(\d{2,5})x(\d{2,5})/.exec((told.video_details ?? []).join(' ')) ?? [];
  const seconds = secondsOf(told.duration);
  return {
    ...(width && height && { width: Number(width), height: Number(height) }),
    ...(seconds !== null && { duration_s: seconds }),
  };
}

/** Decodes the first sound of the file to its end; what comes out of it has been heard to be whole. */
export async function readAudio(
  input: string,
  container: string,
  { to, output }: { to: 'voice' | 'aac' | null; output: string },
): Promise<ToolAnswer> {
  const command = open(input, container);
  if (to === 'voice') asVoice(command.output(`file:${output}`));
  if (to === 'aac') asAac(command.output(`file:${output}`));
  // fluent-ffmpeg takes 20 ms between the close of this stream and the end of ffmpeg for a failure: it hears of none.
  const pcm = new PassThrough({ emitClose: false });
  const loudness = new Loudness();
  pcm.on('data', (chunk: Buffer) => loudness.add(chunk));
  command
    .output(pcm, { end: true })
    .outputOptions('-map', '0:a:0')
    .noVideo()
    .audioChannels(1)
    .audioFrequency(PCM_RATE)
    .audioCodec('pcm_s16le')
    .format('s16le');
  // ffmpeg may be seen to have ended before its last sounds are read.
  await Promise.all([run(command), finished(pcm)]);
  if (loudness.seconds === 0) throw new Refused('there is no sound in the file');
  if (to !== null && statSync(output).size > MAX_MEDIA_BYTES) throw new Refused('the sound is too long');
  const duration_s = Math.max(1, Math.round(loudness.seconds));
  if (to !== 'voice') return { duration_s, converted: to !== null };
  return { duration_s, waveform: Buffer.from(loudness.points()).toString('base64'), converted: true };
}

/** What phones record: Ogg with Opus, one channel of 48 kHz. */
function asVoice(command: FfmpegCommand): void {
  command
    .outputOptions('-map', '0:a:0', '-map_metadata', '-1', '-application', 'voip')
    .noVideo()
    .audioChannels(1)
    .audioFrequency(VOICE_RATE)
    .audioCodec('libopus')
    .audioBitrate('32k')
    .format('ogg');
}

function asAac(command: FfmpegCommand): void {
  command
    .outputOptions('-map', '0:a:0', '-map_metadata', '-1')
    .noVideo()
    .audioCodec('aac')
    .audioBitrate('128k')
    .format('ipod');
}

function secondsOf(duration: string | undefined): number | null {
  const [, hours, minutes, seconds] = /^(\d+):(\d\d):(\d\d(?:\.\d+)?)$/.exec(duration ?? '') ?? [];
  if (hours === undefined) return null;
  return Math.max(1, Math.round(Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)));
}
