import type { z } from 'zod';
import type { FieldError } from './problems.js';

const MAX_ERRORS = 50;
const MAX_PATH = 200;

/**
 * The `errors` of a problem, from the issues of a schema. Paths are dotted and start at the root; an unknown field is
 * part of its path. The size is bounded: a body with a million faults gets a response of a few kilobytes.
 */
export function toFieldErrors(error: z.ZodError, root: readonly string[] = []): FieldError[] {
  const errors: FieldError[] = [];
  for (const issue of error.issues) {
    const path = [...root, ...issue.path.map(String)];
    const unknown = issue.code === 'unrecognized_keys' ? issue.keys : [null];
    for (const key of unknown) {
      if (errors.length >= MAX_ERRORS) return errors;
      const full = key === null ? path : [...path, key];
      // The message never quotes the value, which may be confidential.
      const message = key === null ? issue.message : 'unknown field';
      errors.push({ path: full.join('.').slice(0, MAX_PATH), code: issue.code, message });
    }
  }
  return errors;
}
