import { existsSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Named places where tests kill the process, to prove that no failure window of the message path loses or repeats a
 * message. Inactive unless GWK_FAILPOINT_DIR is set. A failpoint fires if that folder has a file of its name, which it
 * removes.
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
/** States of a received message: decrypted but not stored; stored with its ratchet step; stored by the API. */
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
