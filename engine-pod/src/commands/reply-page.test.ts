import { MAX_REPLY_LENGTH } from '@gwk/core/protocol/commands';
import { cutPage } from './reply-page.js';

const identity = (item: string): string => item;

test.each<[string, Parameters<typeof cutPage>[2], ReturnType<typeof cutPage<string>>]>([
  ['all', { after: null, limit: 9 }, { items: ['a', 'b', 'c'], next: null }],
  ['the first', { after: null, limit: 2 }, { items: ['a', 'b'], next: 'b' }],
  ['the rest', { after: 'b', limit: 2 }, { items: ['c'], next: null }],
  ['those after a key that is gone', { after: 'aa', limit: 1 }, { items: ['b'], next: 'b' }],
  ['none after the last', { after: 'c', limit: 2 }, { items: [], next: null }],
])('returns %s in the order of the keys', (_, page, cut) => {
  expect(cutPage(['c', 'a', 'b'], identity, page)).toEqual(cut);
});

test('ends a page before the reply is too long, and continues without a gap', () => {
  const all = Array.from(
    { length: 2_000 },
    (_, index) => `${String(index).padStart(4, '0')}${'\u0001'.repeat(9)}`,
  );
  const seen: string[] = [];
  let after: string | null = null;
  do {
    const page: ReturnType<typeof cutPage<string>> = cutPage(all, identity, { after, limit: all.length });
    expect(JSON.stringify(page.items).length).toBeLessThan(MAX_REPLY_LENGTH - 12_288);
    seen.push(...page.items);
    after = page.next;
  } while (after !== null);
  expect(seen).toEqual(all);
});
