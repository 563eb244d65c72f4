import { z } from 'zod';

/** A structural OpenAPI v3 schema, limited to the keywords that the Kubernetes API server supports. */
export interface StructuralSchema extends Pick<z.core.JSONSchema.BaseSchema, (typeof KEPT)[number]> {
  nullable?: true;
  format?: string;
  items?: StructuralSchema;
  properties?: Record<string, StructuralSchema>;
  required?: string[];
  [extension: `x-kubernetes-${string}`]: unknown;
}

type Json = Record<string, unknown>;

const KEPT = [
  'type',
  'description',
  'default',
  'enum',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
] as const;
/** zod emits these as bounds of integers without bounds; they are left out. */
const UNBOUNDED = new Set([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]);

/** @returns the schema of the input, from the zod schema that the programs validate it with */
export function toStructuralSchema(schema: z.ZodType): StructuralSchema {
  return translate(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
}

function translate(schema: Json): StructuralSchema {
  if (Array.isArray(schema['type'])) return nullable(schema, splitTypes(schema));
  const alternatives = schema['anyOf'] as Json[] | undefined;
  if (alternatives) return nullable(schema, alternatives);
  const kept = Object.fromEntries(
    KEPT.flatMap((key) => (isWorthKeeping(schema[key]) ? [[key, schema[key]]] : [])),
  ) as StructuralSchema;
  const { properties, required, items } = schema as { properties?: Json; required?: string[]; items?: Json };
  return {
    ...kept,
    ...(kept.type === 'integer' && { format: 'int64' }),
    ...(properties && { properties: translateAll(properties) }),
    ...(required && required.length > 0 && { required }),
    ...(items && { items: translate(items) }),
    ...(kept.type === 'object' && !properties && { 'x-kubernetes-preserve-unknown-fields': true }),
  };
}

const translateAll = (schemas: Json): Record<string, StructuralSchema> =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, translate(schema as Json)]));

const isWorthKeeping = (value: unknown): boolean =>
  value !== undefined && !(typeof value === 'number' && UNBOUNDED.has(value));

/** JSON Schema expresses `nullable` as `anyOf: [X, null]`. */
function nullable(schema: Json, alternatives: Json[]): StructuralSchema {
  const [only, ...more] = alternatives.filter(({ type }) => type !== 'null');
  if (!only || more.length > 0) throw new Error('Kubernetes does not support a choice between types');
  const outer = Object.entries(schema).filter(([key]) => key !== 'anyOf' && key !== 'type');
  return { ...translate({ ...only, ...Object.fromEntries(outer) }), nullable: true };
}

/** JSON Schema also expresses it as `type: [X, null]`. */
const splitTypes = (schema: Json): Json[] => (schema['type'] as string[]).map((type) => ({ type }));
