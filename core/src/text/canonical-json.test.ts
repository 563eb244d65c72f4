import fc from 'fast-check';
import { canonicalJson } from './canonical-json.js';

test('ignores key order and spacing at any depth', () => {
  const a = JSON.parse('{"b": [1, {"y": 2, "x": 1}], "a": null}') as unknown;
  const b = JSON.parse('{"a":null,"b":[1,{"x":1,"y":2}]}') as unknown;
  expect(canonicalJson(a)).toBe(canonicalJson(b));
});

test('keeps the order of arrays', () => {
  expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
});

test('produces JSON with the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('omits undefined properties', () => {
  expect(canonicalJson({ b: undefined, a: 1, c: { d: undefined } })).toBe('{"a":1,"c":{}}');
  expect(canonicalJson({})).toBe('{}');
});
