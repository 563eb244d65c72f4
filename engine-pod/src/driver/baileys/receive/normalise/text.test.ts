import { limitName, limitText } from './text.js';

const FAMILY = '👨‍👩‍👧‍👦';

test.each([
  ['a short text', 'abc', 3, 'abc'],
  ['a long text', 'abcd', 3, 'ab…'],
  ['a text cut inside a surrogate pair', 'ab😀😀', 5, 'ab😀…'],
  ['a text cut inside an emoji of several code points', `ab${FAMILY}`, 6, 'ab…'],
  ['a text cut before a combining mark', 'cafe\u0301s', 5, 'caf…'],
  ['a flag', '🇧🇷🇧🇷', 7, '🇧🇷…'],
])('limits %s', (_, text, max, limited) => {
  expect(limitText(text, max)).toBe(limited);
});

test('cuts a grapheme without an end between two code points', () => {
  const limited = limitText(`a${'\u0301😀'.repeat(1)}${'\u{1F3FB}'.repeat(500)}`, 201);
  expect(limited.length).toBeLessThanOrEqual(201);
  expect(limited.isWellFormed()).toBe(true);
});

test.each([undefined, null, '', ' \n'])('has no name for %j', (name) => {
  expect(limitName(name, 10)).toBeNull();
});
