import { mayOpenStream } from './operations.js';
import type { Viewer } from './watch.js';

const viewers = (amount: number, actor: (index: number) => string, readsCodes: boolean): Viewer[] =>
  Array.from({ length: amount }, (_, index) => ({ actor: actor(index), readsCodes }));
const one = () => 'user:1';
const many = (index: number) => `key:${index}`;

test.each<[string, Viewer[], boolean]>([
  ['the first stream', [], true],
  ['a tenth stream of one person', viewers(9, one, true), true],
  ['an eleventh stream of one person', viewers(10, one, true), false],
  ['an eleventh stream of one person whose role has changed', viewers(10, one, false), false],
  ['a stream beside 20 of callers without codes', viewers(20, many, false), true],
  ['a stream beside 20 of callers with codes', viewers(20, many, true), false],
])('%s', (_name, open, allowed) => {
  expect(mayOpenStream(open, { actor: 'user:1', readsCodes: true })).toBe(allowed);
});
