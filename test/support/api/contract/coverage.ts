import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenApiDocument } from '@gwk/api/openapi/document';
import { readResponses } from './responses.js';
import { formatAnswer } from './seen-answers.js';

/** Documented answers that no test can produce, with the reason. */
export const UNPRODUCED: readonly { answer: RegExp; reason: string }[] = [];

interface Described {
  operationId: string;
  responses: Record<string, { content?: Record<string, { examples?: Record<string, unknown> }> }>;
}

/** Lists every documented answer: each operation with each status and each problem. */
export function listAnswers(document: OpenApiDocument): string[] {
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
  return (operations as unknown as Described[]).flatMap((described) =>
    Object.entries(readResponses(document, described)).flatMap(([text, { content }]) => {
      const status = Number(text);
      const operation = described.operationId;
      const problems = content?.['application/problem+json'];
      if (!problems) return [formatAnswer({ operation, status, code: null })];
      return Object.keys(problems.examples!).map((code) => formatAnswer({ operation, status, code }));
    }),
  );
}

/** Reads the answers that the processes of a run have recorded. */
export function readSeenAnswers(folder: string): Set<string> {
  const lines = readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'));
  return new Set(lines.filter((line) => line !== ''));
}

/** Lists the documented answers that no test has produced and no reason excuses. */
export function unseen(
  answers: readonly string[],
  seen: ReadonlySet<string>,
  excused: typeof UNPRODUCED = UNPRODUCED,
): string[] {
  return answers.filter((name) => !seen.has(name) && !excused.some(({ answer }) => answer.test(name)));
}
