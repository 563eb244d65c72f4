import { fieldErrors } from '@gwk/core/field-errors';
import { Problem } from '@gwk/core/problems';
import type { z } from 'zod';

/**
 * The value as its schema gives it.
 * @throws Problem `validation-error` that lists the faults
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new Problem('validation-error', { errors: fieldErrors(result.error) });
}
