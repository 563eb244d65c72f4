import { createLogger, type Logger } from '@gwk/core/process/log';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../program.js';

export function temporaryFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'gwk-operator-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** A logger that keeps its lines. */
export function recordingLog(lines: string[] = []): Logger {
  return createLogger('operator', 'debug', { write: (line) => void lines.push(line) });
}

/** Command of the compiled fake engine, a program like any other. */
export const FAKE_ENGINE: [string, string] = [
  process.execPath,
  join(ROOT, 'test/dist/support/operator/fake-engine.js'),
];
