import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { EVENT_TYPES } from '@gwk/core/events';
import { OPERATIONS } from '../public-api/operations.js';
import { readResponses } from '@gwk/test/support/api/contract/responses';
import { closed } from '@gwk/test/support/api/contract/closed';
import { openApiDocument } from './document.js';
import { heedsIdempotencyKey } from './describe.js';
import type { JsonSchema } from './schema-book.js';

const document = openApiDocument({
  operations: OPERATIONS,
  baseUrl: 'https://api.example.org',
  docsUrl: 'https://docs.example.org',
});

interface Media {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, { $ref?: string; value?: unknown }>;
}

interface MediaUse {
  at: string;
  type: string;
  media: Media;
}

/** Lists every media type in the request and answers of an operation. */
function listMedia(operation: unknown): MediaUse[] {
  const described = operation as {
    requestBody?: { content: Record<string, Media> };
    responses: Record<string, { content?: Record<string, Media> }>;
  };
  return [
    ['request', described.requestBody?.content] as const,
    ...Object.entries(readResponses(document, described)).map(
      ([status, { content }]) => [status, content] as const,
    ),
  ].flatMap(([at, content]) => Object.entries(content ?? {}).map(([type, media]) => ({ at, type, media })));
}

const listDescribed = (paths: Record<string, JsonSchema>) =>
  Object.values(paths).flatMap((item) =>
    Object.values(item).map((operation): [string, MediaUse[]] => [
      String((operation as JsonSchema)['operationId']),
      listMedia(operation),
    ]),
  );
const described = listDescribed(document.paths);
const webhooks = listDescribed(document.webhooks!);

function listExamples({ example, examples }: Media): unknown[] {
  if (!examples) return [example];
  return Object.values(examples).map(({ $ref, value }) =>
    $ref === undefined ? value : document.components['examples']![$ref.split('/').at(-1)!]!['value'],
  );
}

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addFormat('binary', true);
ajv.addSchema({ $id: 'document', components: { schemas: closed(document.components['schemas']) } });

function validator(schema: JsonSchema) {
  const text = JSON.stringify(closed(schema)).replaceAll('"#/components/', '"document#/components/');
  const validate = ajv.compile(JSON.parse(text) as JsonSchema);
  return (value: unknown) => (validate(value) ? null : ajv.errorsText(validate.errors));
}

const PARTS = ['properties', 'items', 'additionalProperties', 'anyOf', 'oneOf', 'allOf'];

/** The schemas that a schema contains. */
const listParts = (schema: JsonSchema): JsonSchema[] =>
  PARTS.flatMap((key) => {
    const part = schema[key];
    if (typeof part !== 'object' || part === null) return [];
    return (key === 'items' || key === 'additionalProperties' ? [part] : Object.values(part)) as JsonSchema[];
  });

/** The objects and lists of values within a schema that have no name. */
function listInline(schema: JsonSchema, owner: string): string[] {
  const own = 'properties' in schema || 'enum' in schema ? [`${owner}: ${JSON.stringify(schema)}`] : [];
  return [...own, ...listParts(schema).flatMap((part) => listInline(part, owner))];
}

describe('the OpenAPI document', () => {
  test('has every operation of the table once', () => {
    expect(described.map(([name]) => name).sort()).toEqual(OPERATIONS.map(({ name }) => name).sort());
  });

  test('names every body, list of values and object, so that generators need not', () => {
    const { schemas } = document.components;
    const bodies = [...described, ...webhooks].flatMap(([name, uses]) =>
      uses.flatMap(({ media: { schema } }) => listInline(schema, name)),
    );
    const nested = Object.entries(schemas!).flatMap(([name, schema]) =>
      listParts(schema).flatMap((part) => listInline(part, name)),
    );
    expect([...bodies, ...nested]).toEqual([]);
    expect(Object.keys(schemas!)).toEqual(expect.arrayContaining(['MessageReceivedEvent', 'MessagePage']));
    expect(Object.keys(schemas!).filter((name) => /\d$/.test(name))).toEqual([]);
  });

  test('tells the variants of each union of objects apart by one field', () => {
    const events = document.components['schemas']!['EventOut'] as unknown as {
      oneOf: { $ref: string }[];
      discriminator: { propertyName: string; mapping: Record<string, string> };
    };
    expect(events.discriminator.propertyName).toBe('type');
    expect(Object.keys(events.discriminator.mapping)).toEqual(EVENT_TYPES);
    expect(Object.values(events.discriminator.mapping)).toEqual(events.oneOf.map(({ $ref }) => $ref));
    expect(Object.keys(document.webhooks!)).toEqual(EVENT_TYPES);
  });

  test('has no extensions', () => {
    expect(JSON.stringify(document)).not.toMatch(/"x-[^"]*":/);
  });

  test.each([...described, ...webhooks])('the examples of %s are valid', (_name, uses) => {
    for (const { at, type, media } of uses) {
      if (media.schema['type'] === 'string') continue; // a stream
      const validate = validator(media.schema);
      for (const value of listExamples(media)) expect([at, type, validate(value)]).toEqual([at, type, null]);
    }
  });

  test.each(OPERATIONS.filter(heedsIdempotencyKey))(
    '$name supports Idempotency-Key',
    ({ name, idempotent }) => {
      // Messages have their own implementation.
      expect(idempotent || name === 'sendMessage').toBe(true);
    },
  );

  test.each(OPERATIONS)('$name has a body unless its status is 204', ({ status, result }) => {
    expect(status === 204).toBe(result === undefined);
  });
});
