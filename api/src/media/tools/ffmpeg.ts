import { statSync } from 'node:fs';
import { PassThrough, type Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import ffmpeg, { type FfmpegCommand } from 'fluent-ffmpeg';
import { FileRefused, THUMBNAIL_WIDTH, ToolNotStarted, WAVEFORM_POINTS, type ToolAnswer } from './jobs.js';

const LIMITED = fileURLToPath(new URL('../../../bin/run-limited', import.meta.url));
const MAX_PIXELS = 50_000_000;
const VOICE_RATE = 48_000;
const PCM_RATE = 8_000;
const BYTES = 2;
/** 50 ms. */
const WINDOW_BYTES = (PCM_RATE / 20) * BYTES;
const TOP = 100;

/**
 * Runs ffmpeg under api/bin/run-limited. The sniffed container (`-f`) is fixed, so that ffmpeg never takes a file for a
 * playlist or a script, and ffmpeg may open only files and pipes.
 */
function open(input: string, container: string): FfmpegCommand {
  const command = ffmpeg({ source: `file:${input}`, stdoutLines: 200 });
  command.setFfmpegPath(LIMITED);
  return command
    .inputFormat(container)
    .inputOptions('-y', '-nostdin', '-protocol_whitelist', 'file,pipe', '-threads', '1')
    .inputOptions('-max_pixels', String(MAX_PIXELS))
    .outputOptions('-threads', '1', '-map_metadata', '-1');
}

/** Description of the input that fluent-ffmpeg emits before the first output. */
interface CodecData {
  duration?: string;
  video?: string;
  video_details?: string[];
  audio?: string;
}

function run(command: FfmpegCommand): Promise<CodecData> {
  return new Promise((resolve, reject) => {
    let codecData: CodecData = {};
    command.on('codecData', (data: CodecData) => (codecData = data));
    command.on('end', () => resolve(codecData));
    command.on('error', (error) => reject(toToolError(error)));
    command.run();
  });
}

/** Exit codes of env(1) if it cannot start the program; ffmpeg never exits with them. */
const NOT_STARTED = /^ffmpeg exited with code (126|127)\b/;

/** Hides ffmpeg's message, which may quote the file. */
function toToolError(error: NodeJS.ErrnoException): Error {
  const [, code = error.code] = NOT_STARTED.exec(error.message) ?? [];
  return code === undefined
    ? new FileRefused('the file cannot be decoded')
    : new ToolNotStarted(`ffmpeg: ${code}`);
}

/** Checks that the file has a video stream, and makes a thumbnail of its first frame. */
export async function readVideo(input: string, container: string, thumbnail: string): Promise<ToolAnswer> {
  const command = open(input, container)
    .output(`file:${thumbnail}`)
    .outputOptions('-map', '0:v:0', '-frames:v', '1')
    .videoFilters(`scale=${THUMBNAIL_WIDTH}:-2`)
    .noAudio()
    .format('mjpeg');
  const codecData = await run(command);
  if (!statSync(thumbnail, { throwIfNoEntry: false })?.size) throw new FileRefused('the file has no video');
  const [, width, height] = /(\d{2,5})x(\d{2,5})/.exec((codecData.video_details ?? []).join(' ')) ?? [];
  const seconds = parseSeconds(codecData.duration);
  return {
    ...(width && height && { width: Number(width), height: Number(height) }),
    ...(seconds !== null && { duration_s: seconds }),
  };
}

/** Decodes the first audio stream to its end, which proves that it is complete. */
export async function readAudio(
  input: string,
  container: string,
  { to, output }: { to: 'voice' | 'aac' | null; output: string },
): Promise<ToolAnswer> {
  const command = open(input, container);
  if (to === 'voice') asVoice(command.output(`file:${output}`));
  if (to === 'aac') asAac(command.output(`file:${output}`));
  // fluent-ffmpeg reports a failure if this stream closes 20 ms before ffmpeg exits, so the stream emits no close event.
  const pcm = new PassThrough({ emitClose: false });
  const loudness = new Loudness(pcm);
  command
    .output(pcm, { end: true })
    .outputOptions('-map', '0:a:0')
    .noVideo()
    .audioChannels(1)
    .audioFrequency(PCM_RATE)
    .audioCodec('pcm_s16le')
    .format('s16le');
  // ffmpeg may exit before its last samples are read.
  await Promise.all([run(command), finished(pcm)]);
  if (loudness.seconds === 0) throw new FileRefused('the file has no audio');
  if (to !== null && statSync(output).size > MAX_MEDIA_BYTES) throw new FileRefused('the audio is too long');
  const duration_s = Math.max(1, Math.round(loudness.seconds));
  if (to !== 'voice') return { duration_s, converted: to !== null };
  return { duration_s, waveform: Buffer.from(loudness.points()).toString('base64'), converted: true };
}

/** Format that phones record: Ogg with Opus, mono, 48 kHz. */
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

function parseSeconds(duration: string | undefined): number | null {
  const [, hours, minutes, seconds] = /^(\d+):(\d\d):(\d\d(?:\.\d+)?)$/.exec(duration ?? '') ?? [];
  if (hours === undefined) return null;
  return Math.max(1, Math.round(Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)));
}

/** Measures the loudness of streamed PCM (16 bit, mono) in windows of 50 ms. */
class Loudness {
  readonly #windows: number[] = [];
  #bytes = 0;

  constructor(pcm: Readable) {
    pcm.on('readable', () => {
      // The last window may be shorter.
      for (let window; (window = pcm.read(WINDOW_BYTES) as Buffer | null);) {
        this.#windows.push(levelOf(window));
        this.#bytes += window.length;
      }
    });
  }

  get seconds(): number {
    return this.#bytes / BYTES / PCM_RATE;
  }

  /** The loudest point is 100; all points of silence are 0. */
  points(): Uint8Array {
    return shrink(this.#windows, WAVEFORM_POINTS);
  }
}

function levelOf(window: Buffer): number {
  let squares = 0;
  for (let at = 0; at + BYTES <= window.length; at += BYTES) squares += window.readInt16LE(at) ** 2;
  return Math.sqrt((squares * BYTES) / window.length);
}

function shrink(levels: readonly number[], points: number): Uint8Array {
  const result = new Uint8Array(points);
  if (levels.length === 0) return result;
  const means = Array.from({ length: points }, (_, point) => {
    const from = Math.floor((point * levels.length) / points);
    const until = Math.max(from + 1, Math.floor(((point + 1) * levels.length) / points));
    const part = levels.slice(from, until);
    return part.reduce((sum, level) => sum + level, 0) / part.length;
  });
  const loudest = Math.max(...means);
  if (loudest === 0) return result;
  means.forEach((level, point) => (result[point] = Math.round((level / loudest) * TOP)));
  return result;
}
