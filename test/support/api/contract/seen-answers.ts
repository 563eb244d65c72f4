import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

/** An answer that some test has produced. */
export interface SeenAnswer {
  operation: string;
  status: number;
  /** Null where it was no problem. */
  code: string | null;
}

/** The folder in which a run of all tests collects what its processes have seen (test/run.js). */
export const ANSWERS_VARIABLE = 'GWK_TEST_ANSWERS';

export const formatAnswer = ({ operation, status, code }: SeenAnswer): string =>
  code === null ? `${operation} ${status}` : `${operation} ${status} ${code}`;

const written = new Set<string>();

/** Keeps it once for this process. */
export function record(seenAnswer: SeenAnswer): void {
  const folder = process.env[ANSWERS_VARIABLE];
  const name = formatAnswer(seenAnswer);
  if (folder === undefined || written.has(name)) return;
  written.add(name);
  appendFileSync(join(folder, `${process.pid}.txt`), `${name}\n`);
}
