import { PROBLEMS, type ProblemCode } from '@gwk/core/problems';
import type { Operation } from '../http/operation.js';

/** Whether a query has a cursor. */
export const hasCursor = ({ query }: Operation): boolean =>
  query !== undefined && 'shape' in query && 'cursor' in (query.shape as object);

/** `Idempotency-Key` works on every POST. */
export const heedsIdempotencyKey = ({ method }: Operation): boolean => method === 'POST';

/** Properties of an operation and the problems that they imply. */
const IMPLIED: readonly { when: (operation: Operation) => boolean; codes: readonly ProblemCode[] }[] = [
  { when: () => true, codes: ['rate-limited', 'internal-error'] },
  { when: ({ scope }) => scope !== null, codes: ['unauthorized', 'insufficient-scope'] },
  { when: ({ unrestricted }) => unrestricted === true, codes: ['forbidden'] },
  { when: ({ path }) => path.includes('{'), codes: ['not-found'] },
  { when: ({ query, body }) => query !== undefined || body !== undefined, codes: ['validation-error'] },
  { when: ({ body }) => body !== undefined, codes: ['file-too-large'] },
  { when: hasCursor, codes: ['invalid-cursor'] },
  { when: ({ ifMatch }) => ifMatch === true, codes: ['precondition-failed'] },
  {
    when: heedsIdempotencyKey,
    codes: ['invalid-idempotency-key', 'idempotency-key-reused'],
  },
  // If record and result are written in one transaction, no request is ever in progress.
  { when: ({ idempotent }) => idempotent === true, codes: ['idempotency-in-progress'] },
];

/** Returns all problems of an operation, by status. */
export function listProblems(operation: Operation): Map<number, ProblemCode[]> {
  const implied = IMPLIED.filter(({ when }) => when(operation)).flatMap(({ codes }) => codes);
  const codes = [...new Set([...implied, ...(operation.problems ?? [])])].sort();
  const byStatus = Map.groupBy(codes, (code) => PROBLEMS[code].status);
  return new Map([...byStatus].sort(([one], [other]) => one - other));
}
