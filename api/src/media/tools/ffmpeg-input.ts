import { fileURLToPath } from 'node:url';
import { DECODERS } from './formats.js';
import { MAX_PIXELS } from './jobs.js';

/** Runs ffmpeg with limits of the system. */
export const LIMITED = fileURLToPath(new URL('../../../bin/run-limited', import.meta.url));

/**
 * Options before an input of a stranger. The sniffed container (`-f`) is fixed, so that ffmpeg never takes a file for a
 * playlist or a script. ffmpeg may open only files and pipes, and uses only the decoders of the list.
 */
export const ffmpegInput = (container: string): string[] => [
  ...['-f', container, '-y', '-nostdin', '-protocol_whitelist', 'file,pipe', '-threads', '1'],
  ...['-format_whitelist', container, '-codec_whitelist', DECODERS.join(',')],
  ...['-max_pixels', String(MAX_PIXELS)],
];
