import { types } from './kinds.js';

test.each([
  ['a whole number', types.integer(1, 10), '7', 7],
  ['a negative number within the range', types.integer(-5, 10), '-3', -3],
  ['a flag', types.flag(), 'off', false],
  ['a URL with an allowed protocol', types.url('redis', 'rediss'), 'rediss://a:1', 'rediss://a:1'],
  ['text', types.text(), ' x ', ' x '],
  ['one of several words', types.oneOf('a', 'b'), 'b', 'b'],
  ['text that matches a pattern', types.matching(/^a+$/, 'letters a'), 'aa', 'aa'],
  ['address ranges', types.ranges(), '10.0.0.0/8, fd00::/8', ['10.0.0.0/8', 'fd00::/8']],
])('accepts %s', (_case, kind, text, value) => {
  expect(kind.read(text)).toEqual({ ok: true, value });
});

test.each([
  ['a number out of range', types.integer(1, 10), '11', 'must be a whole number from 1 to 10'],
  ['a fraction', types.integer(1, 10), '1.5', 'must be a whole number from 1 to 10'],
  ['a number in scientific notation', types.integer(1, 1000), '1e2', 'must be a whole number from 1 to 1000'],
  ['a flag other than on and off', types.flag(), 'true', 'must be on or off'],
  [
    'a URL of another protocol',
    types.url('http', 'https'),
    'ftp://x',
    'must be a URL that begins with http:// or https://',
  ],
  ['text that is too short', types.text(3), 'ab', 'must have at least 3 characters'],
  ['text that is too long', types.text(1, 2), 'abc', 'must have at most 2 characters'],
  ['an unknown word', types.oneOf('a', 'b'), 'c', 'must be one of a, b'],
  ['text that does not match the pattern', types.matching(/^a+$/, 'letters a'), 'b', 'must be letters a'],
  [
    'an address without a prefix length',
    types.ranges(),
    '10.0.0.1',
    '"10.0.0.1" is not a range like 10.0.0.0/8',
  ],
  [
    'a prefix length out of range',
    types.ranges(),
    '10.0.0.0/33',
    '"10.0.0.0/33" is not a range like 10.0.0.0/8',
  ],
  ['an empty item', types.ranges(), '10.0.0.0/8,', '"" is not a range like 10.0.0.0/8'],
])('rejects %s', (_case, kind, text, fault) => {
  expect(kind.read(text)).toEqual({ ok: false, fault });
});

test('reads a variable that is not set as a fault, the default or undefined', () => {
  expect(types.text().read(undefined).ok).toBe(false);
  expect(types.text().default('x').read(undefined)).toEqual({ ok: true, value: 'x' });
  expect(types.text().optional().read(undefined)).toEqual({ ok: true, value: undefined });
});
