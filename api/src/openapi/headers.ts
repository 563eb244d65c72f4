import type { JsonSchema } from './schema-book.js';

const count: JsonSchema = { type: 'integer', minimum: 0 };

/** Response headers (components.headers). */
export const HEADERS = {
  'X-Request-ID': {
    description: 'The id of the request: the one that it brought, or a generated one. Quote it to support.',
    required: true,
    schema: { type: 'string', minLength: 1, maxLength: 128 },
  },
  'RateLimit-Limit': {
    description: 'Requests a minute.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  'RateLimit-Remaining': {
    description: 'Requests left in the current minute.',
    required: true,
    schema: count,
  },
  'RateLimit-Reset': {
    description: 'Seconds until the minute ends.',
    required: true,
    schema: { type: 'integer', minimum: 0, maximum: 60 },
  },
  'Retry-After': {
    description: 'Seconds after which a repeat makes sense, with the same `Idempotency-Key`.',
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': {
    description: 'How to show who is calling.',
    required: true,
    schema: { type: 'string', const: 'Bearer' },
  },
  ETag: {
    description: 'The version of the resource, for `If-Match`.',
    required: true,
    schema: { type: 'string', pattern: '^"[^"]+"$' },
  },
  'Idempotent-Replayed': {
    description: 'The answer is that of an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
} as const satisfies Record<string, JsonSchema>;

type HeaderName = keyof typeof HEADERS;

/** Headers of every response. */
const GENERAL: readonly HeaderName[] = [
  'X-Request-ID',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
];

/** @param more headers that this response has too; false for one that it does not have */
export function headerRefs(...more: (HeaderName | false)[]): Record<string, JsonSchema> {
  const names = [...GENERAL, ...more].filter((name) => name !== false);
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
