import { checkFfmpeg, findFfmpeg } from '@gwk/core/process/ffmpeg';
import type { Logger } from '@gwk/core/process/log';

/**
 * Null without a working ffmpeg, and messages wait: a broken one would fail every file.
 * @param setting the setting of the path, for the log
 */
export async function findUsableFfmpeg(
  configured: string | undefined,
  setting: string,
  log: Logger,
): Promise<string | null> {
  const found = findFfmpeg(configured);
  const fault = found === null ? 'there is none' : await checkFfmpeg(found);
  if (fault === null) return found;
  log.error(
    { ffmpeg: found, fault, setting },
    'no usable ffmpeg: install one, or set its path; messages with audio and video wait 15 minutes, then fail',
  );
  return null;
}
