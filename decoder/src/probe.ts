import { execFile } from 'node:child_process';
import { isMachineFault } from '@gwk/core/process/machine-fault';
import { ffmpegInput, LIMITED } from './ffmpeg-input.js';
import { FileRefused, MAX_HOURS, MAX_PIXELS, readMachineFault, ToolNotStarted } from '@gwk/core/decoder/jobs';

export interface VideoStream {
  index: number;
  codec: string;
  profile: string;
  /** Name of the pixel format, for example `yuv420p10le`. */
  pixels: string;
  /** As coded: before rotation and with pixels that may not be square. */
  width: number;
  height: number;
  /** Width of a pixel by its height. */
  aspect: number;
  /** Degrees; phones record upright films lying on their side. */
  rotation: number;
  /** Pictures a second, on average. Null: the container does not state it. */
  fps: number | null;
  isHdr: boolean;
}

export interface AudioStream {
  index: number;
  codec: string;
  rate: number;
  channels: number;
}

export interface ProbedFile {
  /** Null: the container does not state it. */
  seconds: number | null;
  /** The first that is no cover picture. */
  video: VideoStream | null;
  audio: AudioStream | null;
  /** Size of a picture that ffmpeg refused for its size. */
  refusedSize: { width: number; height: number } | null;
}

const MAX_BANNER_BYTES = 1_000_000;
const NOT_STARTED: ReadonlySet<unknown> = new Set([126, 127]);

/**
 * Reads the streams of a file from the description that ffmpeg prints. The worker's image has no ffprobe.
 * @throws FileRefused; ToolNotStarted
 */
export function probe(input: string, container: string): Promise<ProbedFile> {
  return new Promise((resolve, reject) => {
    const args = ['-hide_banner', ...ffmpegInput(container), '-i', `file:${input}`];
    execFile(LIMITED, args, { maxBuffer: MAX_BANNER_BYTES }, (error, _, banner) => {
      // Without an output ffmpeg always fails.
      if (NOT_STARTED.has(error?.code) || isMachineFault(error))
        reject(new ToolNotStarted(`ffmpeg: ${error!.code}`));
      else if (!/^Input #0/m.test(banner))
        reject(readMachineFault(banner) ?? new FileRefused('the file cannot be decoded'));
      else resolve(parseBanner(banner));
    });
  });
}

/** Metadata of the file cannot forge a line of a stream: ffmpeg indents each of its lines. */
export function parseBanner(banner: string): ProbedFile {
  const [head = '', ...parts] = banner.split(/^ {2}Stream #0:/m);
  const streams = parts.map(parseStream);
  return {
    seconds: parseSeconds(/^ {2}Duration: ([\d:.]+)/m.exec(head)?.[1]),
    video: streams.find((stream) => stream !== null && 'pixels' in stream) ?? null,
    audio: streams.find((stream) => stream !== null && 'rate' in stream) ?? null,
    refusedSize: parseRefusedSize(banner),
  };
}

function parseRefusedSize(banner: string): ProbedFile['refusedSize'] {
  const pattern = /^\[.*\] Picture size (?<width>\d+)x(?<height>\d+) (?:exceeds|is invalid)/m;
  const { width, height } = match(pattern, banner);
  return width === undefined ? null : { width: Number(width), height: Number(height) };
}

function parseStream(text: string): VideoStream | AudioStream | null {
  const [, index, kind, details] =
    /^(\d+)(?:\[0x[0-9a-f]+\])?(?:\(\w+\))?: (Video|Audio): (.*)/.exec(text) ?? [];
  if (details === undefined || details.includes('(attached pic)')) return null;
  const { codec = '', profile = '' } = match(/^(?<codec>\w+)(?: \((?<profile>[^)]*)\))?/, details);
  if (kind === 'Video') return parseVideo({ index: Number(index), codec, profile }, details, text);
  const { rate, layout = '' } = match(/, (?<rate>\d+) Hz, (?<layout>[^,]+)/, details);
  return { index: Number(index), codec, rate: Number(rate), channels: countChannels(layout) };
}

function parseVideo(
  stream: Pick<VideoStream, 'index' | 'codec' | 'profile'>,
  details: string,
  text: string,
): VideoStream | null {
  const pattern = /, (?<pixels>\w+)(?:\((?<colours>[^)]*)\))?, (?<width>\d+)x(?<height>\d+)/;
  const { pixels, colours = '', width, height } = match(pattern, details);
  if (pixels === undefined) return null;
  const { wide = 1, high = 1 } = match(/\bSAR (?<wide>\d+):(?<high>\d+)/, details);
  const { fps, thousands } = match(/, (?<fps>[\d.]+)(?<thousands>k?) fps\b/, details);
  const { rotation = 0 } = match(/display ?matrix: rotation of (?<rotation>-?[\d.]+) degrees/i, text);
  return {
    ...{ ...stream, pixels, width: Number(width), height: Number(height) },
    ...{ aspect: Number(wide) / Number(high) || 1, rotation: Number(rotation) },
    fps: fps === undefined ? null : Number(fps) * (thousands ? 1_000 : 1),
    isHdr: /smpte2084|arib-std-b67/.test(colours),
  };
}

const match = (pattern: RegExp, text: string): Partial<Record<string, string>> =>
  pattern.exec(text)?.groups ?? {};

function countChannels(layout: string): number {
  if (layout.startsWith('mono')) return 1;
  if (layout.startsWith('stereo') || layout.startsWith('downmix')) return 2;
  const [, channels] = /^(\d+) channels/.exec(layout) ?? [];
  return channels === undefined ? MANY : Number(channels);
}

/** More than stereo, for example 5.1. */
const MANY = 6;

function parseSeconds(duration: string | undefined): number | null {
  const [, hours, minutes, seconds] = /^(\d+):(\d\d):(\d\d(?:\.\d+)?)$/.exec(duration ?? '') ?? [];
  return hours === undefined ? null : Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

/** The size that a player shows. */
export function shownSize({ width, height, aspect, rotation }: VideoStream): {
  width: number;
  height: number;
} {
  const wide = Math.max(1, Math.round(width * aspect));
  const isTurned = Math.round(Math.abs(rotation) / 90) % 2 === 1;
  return isTurned ? { width: height, height: wide } : { width: wide, height };
}

/**
 * Checks the pictures of a film, or one picture.
 * @throws FileRefused, in words that name the limit
 */
export function checkPictures(
  { video, refusedSize }: ProbedFile,
  kind: 'video' | 'picture' = 'video',
): VideoStream {
  const size = video ?? refusedSize;
  if (size !== null && size.width * size.height > MAX_PIXELS) {
    throw new FileRefused(`the ${kind} has ${size.width}x${size.height} pixels, more than 50,000,000`);
  }
  if (video !== null) return video;
  throw new FileRefused(kind === 'video' ? 'the file has no video' : 'the picture cannot be decoded');
}

/** A single processor decodes, scales and encodes about that much in the longest time of a conversion. */
const MAX_COST = { gif: 2_000_000_000, film: 300_000_000_000 };

/**
 * Checks the cost that a film or an animation states, before it is decoded. The time limit of the process bounds the others.
 * @param seconds of the film that are decoded; null: unknown
 * @throws FileRefused
 */
export function checkCost(
  container: string,
  { width, height, fps }: VideoStream,
  seconds: number | null,
): void {
  const pictures = Math.round((seconds ?? 0) * (fps ?? 0));
  const [name, limit] =
    container === 'gif' ? (['animation', MAX_COST.gif] as const) : (['video', MAX_COST.film] as const);
  if (pictures * width * height <= limit) return;
  const most = limit.toLocaleString('en-US');
  throw new FileRefused(
    `the ${name} has ${pictures} pictures of ${width}x${height} pixels, more than ${most}`,
  );
}

/** @throws FileRefused if the file is longer than the limit of its kind */
export function checkDuration(seconds: number | null, kind: keyof typeof MAX_HOURS): void {
  const hours = MAX_HOURS[kind];
  if (seconds === null || Math.round(seconds) <= hours * 3_600) return;
  const name = kind === 'voice' ? 'voice message' : kind;
  throw new FileRefused(`the ${name} is longer than ${hours} ${hours === 1 ? 'hour' : 'hours'}`);
}
