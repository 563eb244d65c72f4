import { checkFfmpeg, findFfmpeg } from '@gwk/core/process/ffmpeg';
import { installPackage } from './packages.js';

/**
 * Installs ffmpeg if there is none.
 * @returns why messages with audio and video cannot be sent, or undefined
 */
export async function prepareFfmpeg(
  configured: string | undefined,
  log: (line: string) => void,
): Promise<string | undefined> {
  if (findFfmpeg(configured) === null) installPackage('ffmpeg', log);
  const ffmpeg = findFfmpeg(configured);
  const fault = ffmpeg === null ? 'there is none' : await checkFfmpeg(ffmpeg);
  return fault === null ? undefined : `no audio and video without ffmpeg (${fault}): install it and restart`;
}
