import type { z } from 'zod';
import type { FieldError } from './problems.js';

const MAX_ERRORS = 50;
const MAX_PATH = 200;

/**
 * What a schema refused, for an answer: paths are dotted, from the root, and an unknown field is named itself (design:
 * items of `errors`). Bounded, whatever was given: a body with a million faults is answered in a few kilobytes.
 */
export function toFieldErrors(error: z.ZodError, root: readonly string[] = []): FieldError[] {
  const errors: FieldError[] = [];
  for (const issue of error.issues) {
    const path = [...root, ...issue.path.map(String)];
    const unknown = issue.code === 'unrecognized_keys' ? issue.keys : [null];
    for (const key of unknown) {
      if (errors.length >= MAX_ERRORS) return errors;
      const full = key === null ? path : [...path, key];
      errors.push({
        path: full.join('.').slice(0, MAX_PATH),
        code: issue.code,
        message: messageOf(issue, key),
      });
    }
  }
  return errors;
}

/** Said without what was given: values may be what nobody should read in an answer or a log. */
function messageOf(issue: z.core.$ZodIssue, unknownKey: string | null): string {
  return unknownKey === null ? issue.message : 'unknown field';
}
