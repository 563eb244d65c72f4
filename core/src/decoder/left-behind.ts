import { readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Longer than any preparation takes; older folders were left by a killed process. */
const LEFT_BEHIND_MS = 3_600_000;

/** Removes temporary folders of this prefix that a killed process has left. */
export async function removeLeftBehind(prefix: string): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(prefix));
  for (const name of names) {
    const path = join(tmpdir(), name);
    const seen = await stat(path).catch(() => null);
    if (seen === null || Date.now() - seen.mtimeMs < LEFT_BEHIND_MS) continue;
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}
