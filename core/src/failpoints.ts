import { existsSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Named places where a test may kill the process, to prove that each failure window of the message path is
 * closed. Inactive unless GWK_FAILPOINT_DIR names a folder; a failpoint fires once, when it removes the file of
 * its name from there.
 */
const SENDING_FAILPOINTS = [
  'api.accept.after-commit',
  'api.accept.after-xadd',
  'engine.after-claim',
  'engine.before-send',
  'engine.after-send',
  'engine.before-outcome',
  'engine.after-outcome',
  'worker.after-post',
] as const;
/** Of a received message: read and not stored; stored with its ratchet step; known to the API. */
export const RECEIVING_FAILPOINTS = [
  'engine.before-journal',
  'engine.after-journal',
  'engine.after-inbound',
] as const;
export const FAILPOINTS = [...SENDING_FAILPOINTS, ...RECEIVING_FAILPOINTS] as const;
export type Failpoint = (typeof FAILPOINTS)[number];

const folder = process.env['GWK_FAILPOINT_DIR'] ?? '';

/** Kills this process with SIGKILL if the failpoint is armed. */
export function failpoint(name: Failpoint): void {
  if (folder === '') return;
  const file = join(folder, name);
  if (!existsSync(file)) return;
  try {
    unlinkSync(file);
  } catch {
    return; // another process fired it first
  }
  process.kill(process.pid, 'SIGKILL');
}
