import { toFieldErrors } from '@gwk/core/field-errors';
import { Problem } from '@gwk/core/problems';
import type { z } from 'zod';

/**
 * The value as its schema gives it.
 * @throws Problem `validation-error` that lists the faults
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new Problem('validation-error', { errors: toFieldErrors(result.error) });
}

/**
 * The parameters as their schema gives them. NUL is refused in every one of them, as it is in a body (design:
 * malformed input): Postgres takes no text that holds it.
 * @throws Problem `validation-error` that lists the faults
 */
export function queryOf<S extends z.ZodType>(schema: S, given: unknown): z.output<S> {
  const query = validate(schema, given);
  const errors = Object.entries(query as Record<string, unknown>)
    .filter(([, value]) => typeof value === 'string' && value.includes('\0'))
    .map(([path]) => ({ path, code: 'nul', message: 'must not contain NUL' }));
  if (errors.length > 0) throw new Problem('validation-error', { errors });
  return query;
}
