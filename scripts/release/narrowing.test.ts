import { findNarrowings, splitByDirection } from './narrowing.ts';

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more }) as never;
const A = { a: { type: 'string' } };

test.each([
  ['a field', object(A), object({}), ['/properties/a: removed']],
  ['a value', { enum: ['a', 'b'] }, { enum: ['a'] }, ['/enum: "b" is missing']],
  ['free values', {}, { enum: ['a'] }, ['/enum: another rule']],
  ['a type', { type: ['string', 'null'] }, { type: 'string' }, ['/type: "null" is missing']],
  ['room above', { maxLength: 5 }, { maxLength: 4 }, ['/maxLength: lower than before']],
  ['room without a limit', {}, { maxItems: 4 }, ['/maxItems: lower than before']],
  ['room below', {}, { minimum: 0 }, ['/minimum: higher than before']],
  ['texts of another form', { pattern: 'a' }, { pattern: 'b' }, ['/pattern: another rule']],
  ['unknown fields', {}, { additionalProperties: false }, ['/additionalProperties: closed']],
  ['the choice to omit a field', object(A), object(A, { required: ['a'] }), ['/required: "a" is new']],
  [
    'an operation',
    { paths: { '/x': { get: {}, put: {} } } },
    { paths: { '/x': { get: {} } } },
    ['/paths//x/put: removed'],
  ],
  [
    'an optional parameter',
    { parameters: [{ name: 'p', in: 'query' }] },
    { parameters: [{ name: 'p', in: 'query', required: true }] },
    ['/parameters/p/required: true is new'],
  ],
  [
    'a version of a resource',
    { versions: [{ name: 'v1' }, { name: 'v0' }] },
    { versions: [{ name: 'v1' }] },
    ['/versions/v0: removed'],
  ],
  [
    'a label',
    { metrics: { m: { labels: { a: {} } } } },
    { metrics: { m: { labels: {} } } },
    ['/metrics/m/labels/a: removed'],
  ],
  ['a default', { default: 1 }, { default: 2 }, ['/default: another default']],
  ['a default without another', { default: 1 }, {}, ['/default: another default']],
  [
    'a field that an answer always had',
    { paths: { x: { responses: { 200: object(A, { required: ['a'] }) } } } },
    { paths: { x: { responses: { 200: object(A) } } } },
    ['/paths/x/responses/200/required: "a" may be absent'],
  ],
  [
    'a field of an answer that was never null',
    { responses: { 200: object(A) } },
    { responses: { 200: object({ a: { type: ['string', 'null'] } }) } },
    ['/responses/200/properties/a: may be null'],
  ],
  [
    'an object of an answer that was never null',
    { responses: { 200: object({ a: { $ref: '#/x' } }) } },
    { responses: { 200: object({ a: { anyOf: [{ $ref: '#/x' }, { type: 'null' }] } }) } },
    ['/responses/200/properties/a: may be null'],
  ],
  [
    'an alternative',
    { anyOf: [{ type: 'string' }, { type: 'null' }] },
    { anyOf: [{ type: 'string' }] },
    ['/anyOf/1: removed'],
  ],
])('finds the loss of %s', (_, former, now, found) => {
  expect(findNarrowings(former as never, now as never)).toEqual(found);
});

test.each([
  [
    'a new field, value, operation and parameter',
    { properties: A, enum: ['a'], paths: {} },
    { properties: { ...A, b: {} }, enum: ['b', 'a'], paths: { '/x': {} } },
  ],
  ['wider limits', { maximum: 1, minLength: 3, pattern: 'a' }, { maximum: 2, minLength: 1 }],
  ['another text', { description: 'a', example: 1 }, { description: 'b' }],
  [
    'a field named like a word of schemas',
    object({ required: {}, maximum: {} }),
    object({ required: {}, maximum: {} }),
  ],
  ['the end of a deprecated field', object({ a: { type: 'string', deprecated: true } }), object({})],
  [
    'an answer that always has its field',
    { paths: { x: { responses: { 200: object(A) } } } },
    { paths: { x: { responses: { 200: object(A, { required: ['a'] }) } } } },
  ],
])('accepts %s', (_, former, now) => {
  expect(findNarrowings(former as never, now as never)).toEqual([]);
});

describe('schemas by direction', () => {
  const refer = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const api = (schemas: object) =>
    splitByDirection({
      paths: {
        '/x': {
          post: { requestBody: { schema: refer('Send') }, responses: { 200: { schema: refer('Answer') } } },
        },
      },
      webhooks: { e: { post: { requestBody: { schema: refer('Event') } } } },
      components: { schemas },
    } as never);
  const all = (more: object) => ({
    Send: object({ a: refer('Both') }),
    Answer: object({ a: refer('Both') }),
    Event: object({ a: refer('Data') }),
    Data: object(A),
    Both: object(A),
    ...more,
  });
  const sent = object({ a: refer('Both') }, { required: ['a'] });
  const required = object(A, { required: ['a'] });
  const place = '/components/schemas';
  const answers = '/components/answers/schemas';

  test.each([
    ['of events', all({ Data: required }), all({}), [`${answers}/Data/required: "a" may be absent`]],
    ['of requests', all({}), all({ Send: sent }), [`${place}/Send/required: "a" is new`]],
    ['of both, when it comes', all({}), all({ Both: required }), [`${place}/Both/required: "a" is new`]],
    [
      'of both, when it ends',
      all({ Both: required }),
      all({}),
      [`${answers}/Both/required: "a" may be absent`],
    ],
    ['of events, when it comes', all({}), all({ Data: required }), []],
    ['of requests, when it ends', all({ Send: sent }), all({}), []],
  ])('required fields %s', (_, former, now, found) => {
    expect(findNarrowings(api(former), api(now))).toEqual(found);
  });
});
