import { toFieldErrors } from '@gwk/core/problems/field-errors';
import { Problem } from '@gwk/core/problems/problems';
import type { z } from 'zod';

/**
 * Parses a value with its schema.
 * @throws Problem `validation-error` with the errors
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new Problem('validation-error', { errors: toFieldErrors(result.error) });
}

/**
 * Parses query parameters with their schema. NUL is refused in all of them, as in bodies, because Postgres cannot store it
 * in text.
 * @throws Problem `validation-error` with the errors
 */
export function parseQuery<S extends z.ZodType>(schema: S, given: unknown): z.output<S> {
  const query = validate(schema, given);
  const errors = Object.entries(query as Record<string, unknown>)
    .filter(([, value]) => typeof value === 'string' && value.includes('\0'))
    .map(([path]) => ({ path, code: 'nul', message: 'must not contain NUL' }));
  if (errors.length > 0) throw new Problem('validation-error', { errors });
  return query;
}
