import { ROLES } from '../roles.js';
import { STATUS_CODES } from 'node:http';
import { PROBLEMS, type ProblemCode } from '@gwk/core/problems/problems';
import { ID_PREFIXES } from '@gwk/core/ids/ids';
import type { z } from 'zod';
import { idKindOf, type Operation } from '../http/operation.js';
import { findRule } from '../http/suspension.js';
import { makeExample } from './examples.js';
import { mayCall } from './permissions.js';
import { headerRefs, type Responses } from './responses.js';
import type { JsonSchema, SchemaBook } from './schema-book.js';

/** The parts of a document that its operations share. */
export interface Shared {
  book: SchemaBook;
  responses: Responses;
}

/** Describes one operation from its row in the table. */
export function describeOperation(operation: Operation, { book, responses }: Shared): JsonSchema {
  const { name, summary, description } = operation;
  return {
    operationId: name,
    summary,
    ...(description !== undefined && { description }),
    tags: [getTag(operation)],
    security: securityOf(operation),
    parameters: [
      ...pathParameters(operation),
      ...queryParameters(operation, book),
      ...headerParameters(operation),
    ],
    ...(operation.body && { requestBody: requestBody(operation, operation.body, book) }),
    responses: responsesOf(operation, book, responses),
  };
}

function securityOf({ scope, orScope, person = 'anyone' }: Operation): JsonSchema[] {
  if (person === 'portal') return [{ platform: [] }];
  if (person !== 'anyone') return [{ session: [] }];
  return [scope, orScope].flatMap((one) => (one ? [{ apiKey: [one] }] : []));
}

/** Tag of an operation: the first part of its path after the prefix. */
export function getTag({ path }: Operation): string {
  return path.replace(/^\/(v1|console\/api)\//, '').split('/')[0]!;
}

function pathParameters({ path }: Operation): JsonSchema[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: pathSchema(name!),
  }));
}

const TEXT_PARAMETERS: Readonly<Record<string, JsonSchema>> = {
  phone: {
    type: 'string',
    description: 'A phone (country code, area code and number, digits only), or the network id of a person.',
    pattern: '^([0-9]{8,15}|[0-9:]{5,26}@(lid|s\\.whatsapp\\.net))$',
    examples: ['5511987654321'],
  },
  chat: {
    type: 'string',
    description: 'A phone (digits), or the full network id of a chat.',
    minLength: 1,
    maxLength: 100,
    examples: ['5511987654321'],
  },
  group: {
    type: 'string',
    description: 'The network id of a group.',
    minLength: 1,
    maxLength: 100,
    examples: ['120363041234567890@g.us'],
  },
};

function pathSchema(name: string): JsonSchema {
  const kind = idKindOf(name);
  if (kind === undefined) return TEXT_PARAMETERS[name] ?? { type: 'string', minLength: 1 };
  return {
    type: 'string',
    pattern: `^${ID_PREFIXES[kind]}[0-9a-f]{32}$`,
    examples: [`${ID_PREFIXES[kind]}0199f3a27c1e7b04a1d25c3e8f902b67`],
  };
}

function queryParameters({ query }: Operation, book: SchemaBook): JsonSchema[] {
  if (!query) return [];
  const { properties = {}, required = [] } = book.add(query, 'input') as {
    properties?: Record<string, JsonSchema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(required.includes(name) && { required: true }),
    schema,
  }));
}

function headerParameters(operation: Operation): JsonSchema[] {
  const names = ['RequestId', 'Language'];
  if (isConsole(operation) && isChange(operation)) names.push('CsrfToken');
  if (isOfAccount(operation)) names.push('Account');
  if (heedsIdempotencyKey(operation)) names.push('IdempotencyKey');
  if (operation.ifMatch) names.push('IfMatch');
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

function requestBody({ bodyOptional, receive }: Operation, body: z.ZodType, book: SchemaBook): JsonSchema {
  const schema = book.add(body, 'input');
  return {
    required: !bodyOptional,
    content: {
      [receive ? 'multipart/form-data' : 'application/json']: { schema, ...examplesOf(schema, book) },
    },
  };
}

function responsesOf(operation: Operation, book: SchemaBook, shared: Responses): JsonSchema {
  const responses: Record<string, JsonSchema> = {
    [operation.status]: success(operation, operation.status, book),
  };
  for (const [status, meaning] of Object.entries(operation.otherStatuses ?? {})) {
    responses[status] = { ...success(operation, Number(status), book), description: meaning };
  }
  for (const [status, codes] of listProblems(operation)) responses[status] = shared.refuse(operation, codes);
  return responses;
}

function success(operation: Operation, status: number, book: SchemaBook): JsonSchema {
  const { result, resultType = 'application/json', etag = false } = operation;
  const headers = headerRefs(etag && 'ETag', heedsIdempotencyKey(operation) && 'Idempotent-Replayed');
  const answer = { description: STATUS_CODES[status] ?? '', headers };
  if (!result) return answer;
  const schema = book.add(result, 'output');
  const media =
    resultType === 'text/event-stream' ? streamOf(schema) : { schema, ...examplesOf(schema, book) };
  return { ...answer, content: { [resultType]: media } };
}

/** OpenAPI 3.1 describes a stream as text. */
const streamOf = (event: JsonSchema): JsonSchema => ({
  schema: {
    type: 'string',
    description: 'Server-sent events. `contentSchema` describes the `data` of each.',
    contentMediaType: 'application/json',
    contentSchema: event,
  },
});

/** Examples of the schema, or a generated one. */
export function examplesOf(schema: JsonSchema, book: SchemaBook): JsonSchema {
  const own = book.resolve(schema)['examples'] as { type?: string }[] | undefined;
  if (!own || own.length < 2) return { example: makeExample(schema, book) };
  const named = own.map((value, index) => [value.type ?? `example ${index + 1}`, { value }]);
  return { examples: Object.fromEntries(named) };
}

/** Whether a query has a cursor. */
export const hasCursor = ({ query }: Operation): boolean =>
  query !== undefined && 'shape' in query && 'cursor' in (query.shape as object);

/** `Idempotency-Key` works on every POST except those of the console. */
export const heedsIdempotencyKey = (operation: Operation): boolean =>
  operation.method === 'POST' && !isConsole(operation);

const isConsole = ({ person }: Operation): boolean => person !== undefined;
const isChange = ({ method }: Operation): boolean => method !== 'GET';
const isOfPortal = ({ person }: Operation): boolean => person === 'portal';
const needsSession = (operation: Operation): boolean =>
  isConsole(operation) && operation.person !== 'anyone' && !isOfPortal(operation);
/** Whether the operation belongs to an account of the person. */
const isOfAccount = (operation: Operation): boolean =>
  needsSession(operation) && operation.person !== 'signed-in' && !isOfPlatform(operation);
/** Only administrators of the platform may call it. */
const isOfPlatform = ({ person }: Operation): boolean => person === 'platform-admin';

/** Some role may not call it. */
const isRefusedToRole = (operation: Operation): boolean =>
  isOfAccount(operation) && ROLES.some((role) => !mayCall(operation, { role }));

/** Properties of an operation and the problems that they imply. */
const IMPLIED: readonly { when: (operation: Operation) => boolean; codes: readonly ProblemCode[] }[] = [
  { when: () => true, codes: ['rate-limited', 'internal-error'] },
  { when: ({ scope }) => scope !== null, codes: ['unauthorized', 'insufficient-scope'] },
  {
    when: (operation) => isConsole(operation) && isChange(operation) && !isOfPortal(operation),
    codes: ['origin-not-allowed'],
  },
  { when: (operation) => needsSession(operation) && isChange(operation), codes: ['csrf-failed'] },
  { when: (operation) => needsSession(operation) || isOfPortal(operation), codes: ['unauthorized'] },
  { when: isOfAccount, codes: ['no-account', 'mfa-not-verified'] },
  { when: isOfPlatform, codes: ['mfa-not-verified'] },
  { when: (operation) => isRefusedToRole(operation) || isOfPlatform(operation), codes: ['forbidden'] },
  { when: ({ unrestricted }) => unrestricted === true, codes: ['forbidden'] },
  { when: ({ name }) => findRule(name) === 'refused', codes: ['account-suspended'] },
  { when: ({ path }) => path.includes('{'), codes: ['not-found'] },
  { when: ({ query, body }) => query !== undefined || body !== undefined, codes: ['validation-error'] },
  { when: ({ body }) => body !== undefined, codes: ['file-too-large'] },
  { when: hasCursor, codes: ['invalid-cursor'] },
  { when: ({ ifMatch }) => ifMatch === true, codes: ['precondition-failed'] },
  {
    when: heedsIdempotencyKey,
    codes: ['invalid-idempotency-key', 'idempotency-key-reused'],
  },
  // If record and result are written in one transaction, no request is ever in progress.
  { when: ({ idempotent }) => idempotent === true, codes: ['idempotency-in-progress'] },
];

/** Returns all problems of an operation, by status. */
export function listProblems(operation: Operation): Map<number, ProblemCode[]> {
  const implied = IMPLIED.filter(({ when }) => when(operation)).flatMap(({ codes }) => codes);
  const codes = [...new Set([...implied, ...(operation.problems ?? [])])].sort();
  const byStatus = Map.groupBy(codes, (code) => PROBLEMS[code].status);
  return new Map([...byStatus].sort(([one], [other]) => one - other));
}
