import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Runs `build` while no other process of this machine runs one with the same lock file. Without it, the test files of two
 * workers would compile the same program at the same time. The operating system releases the lock of a killed process,
 * because flock ends with its input. On a machine without flock the builds run side by side.
 */
export async function buildAlone<T>(lock: string, build: () => T | Promise<T>): Promise<T> {
  mkdirSync(dirname(lock), { recursive: true });
  const holder = spawn('flock', [lock, 'sh', '-c', 'echo locked; exec cat'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  holder.on('error', () => undefined);
  try {
    await Promise.race([once(holder.stdout, 'data'), once(holder.stdout, 'close')]);
    return await build();
  } finally {
    holder.stdin.end();
  }
}
