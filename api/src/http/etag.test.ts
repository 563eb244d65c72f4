import { checkIfMatch, formatEtag } from './etag.js';

test.each([
  ['no header', undefined],
  ['any version', '*'],
  ['the current version', '"7"'],
  ['the current version among others', '"3", "7"'],
])('%s matches version 7', (_, header) => {
  expect(() => checkIfMatch(header, 7)).not.toThrow();
});

test.each([
  ['another version', '"6"'],
  ['a weak tag', 'W/"7"'],
  ['a version without quotes', '7'],
  ['an empty header', ''],
])('%s does not match version 7', (_, header) => {
  expect(() => checkIfMatch(header, 7)).toThrow('precondition-failed');
});

test('formats the version in quotes', () => expect(formatEtag(7)).toBe('"7"'));
