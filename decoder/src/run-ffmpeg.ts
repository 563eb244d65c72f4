import ffmpeg, { type FfmpegCommand } from 'fluent-ffmpeg';
import { ffmpegInput, LIMITED } from './ffmpeg-input.js';
import { FileRefused, MAX_HOURS, readMachineFault, ToolNotStarted } from '@gwk/core/decoder/jobs';

const HOUR_S = 3_600;
/** ffmpeg reads this much beyond the limit, which shows that the file is longer. */
const MARGIN_S = 2;

/** Opens a file of a stranger under decoder/bin/run-limited. Metadata of the file, for example a location, is never copied. */
export function openInput(
  input: string,
  container: string,
  kind: keyof typeof MAX_HOURS,
  maxSeconds = MAX_HOURS[kind] * HOUR_S + MARGIN_S,
): FfmpegCommand {
  const command = ffmpeg({ source: `file:${input}`, stdoutLines: 200 });
  command.setFfmpegPath(LIMITED);
  return command
    .inputOptions(ffmpegInput(container))
    .inputOptions('-t', String(maxSeconds))
    .outputOptions('-threads', '1', '-map_metadata', '-1', '-map_chapters', '-1');
}

/** @throws FileRefused; ToolNotStarted */
export function runFfmpeg(command: FfmpegCommand): Promise<void> {
  return new Promise((resolve, reject) => {
    command.on('end', (_, banner) => {
      const fault = readMachineFault(banner ?? '');
      if (fault) reject(fault);
      else resolve();
    });
    command.on('error', (error, _, banner) =>
      reject(readMachineFault(banner ?? '') ?? toToolError(error, banner ?? '')),
    );
    command.run();
  });
}

/** Exit codes of env(1) if it cannot start the program; ffmpeg never exits with them. */
const NOT_STARTED = /^ffmpeg exited with code (126|127)\b/;
/** ffmpeg of another machine may lack an encoder. fluent-ffmpeg asks it before. */
const NO_ENCODER = /(?:codec|format) (\w+) is not available|Unknown encoder '(\w+)'/;
export const NO_FILTER = 'ffmpeg has no such filter';

/** Hides ffmpeg's message, which may quote the file. */
function toToolError(error: NodeJS.ErrnoException, banner: string): Error {
  const [, code = error.code] = NOT_STARTED.exec(error.message) ?? [];
  if (code !== undefined) return new ToolNotStarted(`ffmpeg: ${code}`);
  const [, absent, unknown] = NO_ENCODER.exec(error.message) ?? NO_ENCODER.exec(banner) ?? [];
  const encoder = absent ?? unknown;
  if (encoder !== undefined) {
    return new FileRefused(`the file needs a conversion, and ffmpeg of this gateway has no ${encoder}`);
  }
  return new FileRefused(/No such filter/.test(banner) ? NO_FILTER : 'the file cannot be decoded');
}
