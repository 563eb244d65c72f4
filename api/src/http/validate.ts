import { Problem, type FieldError } from '@gwk/core/problems';
import type { z } from 'zod';

const MAX_ERRORS = 50;

/**
 * The value as its schema gives it.
 * @throws Problem `validation-error` that lists the faults
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new Problem('validation-error', { errors: fieldErrors(result.error) });
}

/** Paths are dotted, from the root; an unknown field is named itself (design: items of `errors`). */
export function fieldErrors(error: z.ZodError): FieldError[] {
  const errors: FieldError[] = [];
  for (const issue of error.issues) {
    const path = issue.path.map(String);
    const unknown = issue.code === 'unrecognized_keys' ? issue.keys : [null];
    for (const key of unknown) {
      if (errors.length >= MAX_ERRORS) return errors;
      const full = key === null ? path : [...path, key];
      errors.push({ path: full.join('.').slice(0, 200), code: issue.code, message: messageOf(issue, key) });
    }
  }
  return errors;
}

/** Said without what was given: values may be what nobody should read in an answer or a log. */
function messageOf(issue: z.core.$ZodIssue, unknownKey: string | null): string {
  return unknownKey === null ? issue.message : 'unknown field';
}
