import { execFileSync } from 'node:child_process';
import sharp from 'sharp';

interface ProbedStream {
  codec_name: string;
  profile?: string;
  pix_fmt?: string;
  width?: number;
  height?: number;
  channels?: number;
  sample_rate?: string;
  level?: number;
}

/** Streams and duration of a file, as ffprobe reports them. */
export function ffprobe(path: string): {
  streams: ProbedStream[];
  format: { duration?: string; format_name: string };
} {
  const args = ['-v', 'error', '-of', 'json', '-show_streams', '-show_format', path];
  return JSON.parse(execFileSync('ffprobe', args, { encoding: 'utf8' })) as ReturnType<typeof ffprobe>;
}

/** The streams in short: `h264 High yuv420p 320x240`, `aac 2 44100`. */
export const streamsOf = (path: string): string[] =>
  ffprobe(path).streams.map(({ codec_name, profile, pix_fmt, width, height, channels, sample_rate }) =>
    width === undefined
      ? `${codec_name} ${channels} ${sample_rate}`
      : `${codec_name} ${profile} ${pix_fmt} ${width}x${height}`,
  );

/** Whether the index of an MP4 file is before its content. */
export function isFaststart(bytes: Buffer): boolean {
  const index = bytes.indexOf('moov');
  return index > 0 && index < bytes.indexOf('mdat');
}

/** A frame of a film as a picture. */
export function frameOf(path: string, seconds = 0): Promise<Buffer> {
  const args = [
    '-v',
    'error',
    '-ss',
    String(seconds),
    '-i',
    path,
    '-frames:v',
    '1',
    '-f',
    'image2pipe',
    '-c:v',
    'png',
    '-',
  ];
  return sharp(execFileSync('ffmpeg', args)).toBuffer();
}

/** RGBA of one pixel of a picture. */
export async function pixelOf(picture: Buffer | string, x: number, y: number): Promise<number[]> {
  const { data } = await sharp(picture)
    .extract({ left: x, top: y, width: 1, height: 1 })
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return [...data];
}
