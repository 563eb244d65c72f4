import { findNarrowings } from './narrowing.ts';

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
