import { mergePiece } from './growing.js';

const row = (id: string, state = 'old') => ({ id, state });
const BEFORE = { rows: [row('c'), row('b')], cursor: 'after b' };

test.each([
  ['the first rows', undefined, { rows: [row('c')], cursor: 'after c', isNewest: true }, ['c'], 'after c'],
  [
    'newer rows',
    BEFORE,
    { rows: [row('d'), row('c', 'new')], cursor: 'after c', isNewest: true },
    ['c', 'b', 'd'],
    'after b',
  ],
  ['older rows', BEFORE, { rows: [row('a')], cursor: null, isNewest: false }, ['c', 'b', 'a'], null],
  [
    'newest rows that leave a gap',
    BEFORE,
    { rows: [row('f'), row('e')], cursor: 'after e', isNewest: true },
    ['f', 'e'],
    'after e',
  ],
  ['no rows', BEFORE, { rows: [], cursor: null, isNewest: true }, ['c', 'b'], 'after b'],
])('adds %s', (...[, before, piece, ids, cursor]) => {
  const merged = mergePiece(before, piece);
  expect(merged.rows.map(({ id }) => id)).toEqual(ids);
  expect(merged.cursor).toBe(cursor);
});

test('sees a gap between messages although an event of them is known', () => {
  const piece = { rows: [row('f'), row('e'), row('event')], cursor: 'after e', isNewest: true };
  const before = { rows: [...BEFORE.rows, row('event')], cursor: 'after b' };
  const merged = mergePiece(before, piece, ({ id }) => id !== 'event');
  expect(merged.rows.map(({ id }) => id)).toEqual(['f', 'e', 'event']);
});

test('replaces a row by its newer state', () => {
  const { rows } = mergePiece(BEFORE, { rows: [row('c', 'new')], cursor: null, isNewest: true });
  expect(rows).toEqual([row('c', 'new'), row('b')]);
});
