import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { isMachineFault } from './machine-fault.js';

/** The oldest ffmpeg that decodes files of strangers: the oldest branch that still gets security fixes, and its libavcodec. */
export const MINIMUM_FFMPEG = { version: '5.1', libavcodec: [59, 37] } as const;

const TIMEOUT_MS = 10_000;

/** The configured ffmpeg, else the one on the path. Null: there is none. */
export function findFfmpeg(configured: string | undefined, path = process.env['PATH'] ?? ''): string | null {
  if (configured !== undefined) return configured;
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, 'ffmpeg')).find(isExecutable) ?? null;
}

/** The reason not to use an ffmpeg, or null. A timeout and a lack of the machine give no reason, because they pass. */
export function checkFfmpeg(ffmpeg: string): Promise<string | null> {
  return new Promise((resolve) => {
    const options = { timeout: TIMEOUT_MS, env: {} };
    execFile(ffmpeg, ['-encoders'], options, (error, stdout, stderr) => {
      if (error) resolve(error.killed === true || isMachineFault(error) ? null : 'it does not run');
      else resolve(findFault(stderr + stdout));
    });
  });
}

/** Judges the banner and the list of encoders. Builds from git have no version, so that of libavcodec decides. */
export function findFault(output: string): string | null {
  const [, major = '0', minor = '0'] = /^ *libavcodec +(\d+)\. *(\d+)/m.exec(output) ?? [];
  const [oldest, oldestMinor] = MINIMUM_FFMPEG.libavcodec;
  const isOld = Number(major) === oldest ? Number(minor) < oldestMinor : Number(major) < oldest;
  if (isOld) return `it is older than ${MINIMUM_FFMPEG.version}`;
  return /\blibopus\b/.test(output) ? null : 'it has no libopus';
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
