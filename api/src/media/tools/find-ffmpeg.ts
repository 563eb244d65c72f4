import { execFile } from 'node:child_process';
import { accessSync, chmodSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';

/**
 * Finds ffmpeg: the configured one, else the one on the path, else the packaged one (of 2018, but sufficient). Null if there
 * is none.
 */
export function findFfmpeg(configured: string | undefined, path = process.env['PATH'] ?? ''): string | null {
  if (configured !== undefined) return configured;
  const candidates = path.split(delimiter).filter((folder) => folder !== '');
  return candidates.map((folder) => join(folder, 'ffmpeg')).find(isExecutable) ?? packaged();
}

const TIMEOUT_MS = 10_000;

/** Checks that ffmpeg runs and can encode Opus. A timeout counts as usable, because the machine may be busy. */
export function isUsable(ffmpeg: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { timeout: TIMEOUT_MS, env: {} };
    execFile(ffmpeg, ['-hide_banner', '-encoders'], options, (error, stdout) =>
      resolve(error ? error.killed === true : /\blibopus\b/.test(stdout)),
    );
  });
}

/** Makes the packaged binary executable, because install scripts do not run. */
function packaged(): string | null {
  try {
    const require = createRequire(import.meta.url);
    const { path } = require('@ffmpeg-installer/ffmpeg') as { path: string };
    if (!isExecutable(path)) chmodSync(path, 0o755);
    return path;
  } catch {
    return null; // no binary for this platform, or no permission to change it
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
