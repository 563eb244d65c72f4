import { execFile } from 'node:child_process';
import { accessSync, chmodSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';

/**
 * The ffmpeg to run: the one configured, else the one on the path, else the one that came with the packages (of 2018,
 * but it does what is needed). Null where there is none.
 */
export function findFfmpeg(configured: string | undefined, path = process.env['PATH'] ?? ''): string | null {
  if (configured !== undefined) return configured;
  const candidates = path.split(delimiter).filter((folder) => folder !== '');
  return candidates.map((folder) => join(folder, 'ffmpeg')).find(isExecutable) ?? packaged();
}

const PATIENCE_MS = 10_000;

/** Whether it runs here and makes what voice messages need. One that takes its time on a busy machine is believed. */
export function isUsable(ffmpeg: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { timeout: PATIENCE_MS, env: {} };
    execFile(ffmpeg, ['-hide_banner', '-encoders'], options, (error, stdout) =>
      resolve(error ? error.killed === true : /\blibopus\b/.test(stdout)),
    );
  });
}

/** Packages are installed without running their scripts: one that unpacked without the bit gets it here. */
function packaged(): string | null {
  try {
    const require = createRequire(import.meta.url);
    const { path } = require('@ffmpeg-installer/ffmpeg') as { path: string };
    if (!isExecutable(path)) chmodSync(path, 0o755);
    return path;
  } catch {
    return null; // no binary for this machine, or not ours to change
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
