import { LANGUAGES } from '@gwk/core/language';
import { PROBLEMS, type ProblemCode } from '@gwk/core/problems/problems';
import { pascalCase } from '@gwk/core/text/pascal-case';
import type { JsonSchema } from './schema-book.js';

/** Codes whose names together still name a response well. */
const MAX_IN_NAME = 3;

/** The refusals of a document (components.responses). Operations that refuse for the same reasons share one. */
export class Responses {
  readonly components: Record<string, JsonSchema> = {};
  readonly #names = new Map<string, string>();

  /** @param codes of one status */
  refuse({ name }: { name: string }, codes: readonly ProblemCode[]): JsonSchema {
    const reasons = codes.join();
    const known = this.#names.get(reasons) ?? nameOf(name, codes);
    this.#names.set(reasons, known);
    this.components[known] ??= refusal(codes);
    return { $ref: `#/components/responses/${known}` };
  }
}

function nameOf(operation: string, codes: readonly ProblemCode[]): string {
  if (codes.length <= MAX_IN_NAME) return codes.map(pascalCase).join('Or');
  return `${pascalCase(operation)}${PROBLEMS[codes[0]!].status}`;
}

const RETRIED: ReadonlySet<number> = new Set([409, 429, 500, 502, 503]);

/** Problem codes are the keys of the examples. */
function refusal(codes: readonly ProblemCode[]): JsonSchema {
  const isRetried = codes.some((code) => RETRIED.has(PROBLEMS[code].status));
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}`).join('; '),
    headers: headerRefs(
      'Content-Language',
      isRetried && 'Retry-After',
      codes.includes('unauthorized') && 'WWW-Authenticate',
    ),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/ProblemOut' },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

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
  'Content-Language': {
    description: 'Language of the texts for people.',
    required: true,
    schema: { enum: LANGUAGES },
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
