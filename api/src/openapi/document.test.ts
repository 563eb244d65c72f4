import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { OPERATIONS } from '../public-api/operations.js';
import { closed } from '@gwk/test/support/api/contract/closed';
import { openApiDocument } from './document.js';
import { heedsIdempotencyKey } from './problems.js';
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

interface Place {
  at: string;
  type: string;
  media: Media;
}

/** Every media type of the request and the answers of an operation. */
function placesOf(operation: unknown): Place[] {
  const { requestBody, responses } = operation as {
    requestBody?: { content: Record<string, Media> };
    responses: Record<string, { content?: Record<string, Media> }>;
  };
  return [
    ['request', requestBody?.content] as const,
    ...Object.entries(responses).map(([status, { content }]) => [status, content] as const),
  ].flatMap(([at, content]) => Object.entries(content ?? {}).map(([type, media]) => ({ at, type, media })));
}

const described = Object.values(document.paths).flatMap((item) =>
  Object.values(item).map((operation): [string, Place[]] => [
    String(operation['operationId']),
    placesOf(operation),
  ]),
);

function valuesOf({ example, examples }: Media): unknown[] {
  if (!examples) return [example];
  return Object.values(examples).map(({ $ref, value }) =>
    $ref === undefined ? value : document.components['examples']![$ref.split('/').at(-1)!]!['value'],
  );
}

function validator(schema: JsonSchema) {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addFormat('binary', true);
  ajv.addSchema({ $id: 'document', components: { schemas: closed(document.components['schemas']) } });
  const text = JSON.stringify(closed(schema)).replaceAll('"#/components/', '"document#/components/');
  const validate = ajv.compile(JSON.parse(text) as JsonSchema);
  return (value: unknown) => (validate(value) ? null : ajv.errorsText(validate.errors));
}

describe('the description of the interface', () => {
  test('has every operation of the table, each once', () => {
    expect(described.map(([name]) => name).sort()).toEqual(OPERATIONS.map(({ name }) => name).sort());
  });

  test.each(described)('the examples of %s are valid', (_name, places) => {
    for (const { at, type, media } of places) {
      if (media.schema['type'] === 'string') continue; // a stream
      const judge = validator(media.schema);
      for (const value of valuesOf(media)) expect([at, type, judge(value)]).toEqual([at, type, null]);
    }
  });

  test.each(OPERATIONS.filter(heedsIdempotencyKey))('$name heeds Idempotency-Key', ({ name, idempotent }) => {
    // That of messages has a way of its own.
    expect(idempotent || name === 'sendMessage').toBe(true);
  });

  test.each(OPERATIONS)('$name says what it answers', ({ status, result }) => {
    expect(status === 204).toBe(result === undefined);
  });
});
