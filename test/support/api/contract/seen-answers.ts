import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

/** A documented answer that some test has produced. */
export interface SeenAnswer {
  operation: string;
  status: number;
  /** Problem code; null for a success. */
  code: string | null;
}

/** Folder in which all processes of a test run record the answers that they have seen (test/run.js). */
export const ANSWERS_VARIABLE = 'GWK_TEST_ANSWERS';

export const formatAnswer = ({ operation, status, code }: SeenAnswer): string =>
  code === null ? `${operation} ${status}` : `${operation} ${status} ${code}`;

const written = new Set<string>();

/** Records an answer once per process. */
export function record(seenAnswer: SeenAnswer): void {
  const folder = process.env[ANSWERS_VARIABLE];
  const name = formatAnswer(seenAnswer);
  if (folder === undefined || written.has(name)) return;
  written.add(name);
  appendFileSync(join(folder, `${process.pid}.txt`), `${name}\n`);
}
