import { ResourceInvalid } from '@gwk/core/desired-state/desired-state';
import { toFieldErrors } from '@gwk/core/problems/field-errors';
import { NewInstance, type InstanceResource } from '@gwk/core/resources/manifest';
import type { z } from 'zod';

/** @throws ResourceInvalid that names every invalid field */
export function parse<T>(schema: z.ZodType<T>, body: unknown): T {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const faults = toFieldErrors(result.error).map(({ path, message }) => `${path || '<root>'}: ${message}`);
  throw newInvalid(faults);
}

export const readNewResource = (body: unknown): NewInstance => parse(NewInstance, body);

const IMMUTABLE = ['account', 'kind'] as const;

/** @throws ResourceInvalid if an immutable field changes */
export function checkImmutableFields(before: InstanceResource, spec: InstanceResource['spec']): void {
  const changed = IMMUTABLE.filter((field) => before.spec[field] !== spec[field]);
  if (changed.length > 0)
    throw newInvalid(
      changed.map((field) => `spec.${field}: cannot change; delete the instance and create another`),
    );
}

const newInvalid = (faults: string[]): ResourceInvalid =>
  new ResourceInvalid(`the Instance is invalid: ${faults.join('; ')}`);
