import { fileURLToPath } from 'node:url';
import { DECODERS, RAW } from '@gwk/core/decoder/formats';
import { MAX_PIXELS } from '@gwk/core/decoder/jobs';

/** Runs ffmpeg with limits of the system. */
export const LIMITED = fileURLToPath(new URL('../bin/run-limited', import.meta.url));

/**
 * Options before an input of a stranger. The sniffed container (`-f`) is fixed, so that ffmpeg never takes a file for a
 * playlist or a script. ffmpeg may open only files and pipes, and uses only the decoders of the list.
 */
export const ffmpegInput = (container: string): string[] => [
  ...['-f', container, '-y', '-nostdin', '-protocol_whitelist', 'file,pipe', '-threads', '1'],
  ...['-format_whitelist', container, '-codec_whitelist', DECODERS.join(',')],
  ...['-max_pixels', String(MAX_PIXELS)],
];

/** Options before an input of RGB that gwk decoded itself, one picture after the other. */
export const rawInput = ({ width, height }: { width: number; height: number }, fps: number): string[] => [
  ...['-y', '-f', RAW, '-pix_fmt', 'rgb24', '-framerate', String(fps), '-video_size', `${width}x${height}`],
];
