import { sumsOf, type Line } from './sums.js';

const lines = (...texts: string[]): Line[] =>
  texts.map((text) => ({ conversation: text[0]!, text: text.slice(1) }));

test.each<[sentence: string, sent: Line[], seen: Line[], wanted: object]>([
  [
    'all is well',
    lines('a1', 'b1', 'a2'),
    lines('b1', 'a1', 'a2'),
    { lost: [], doubled: [], disordered: [] },
  ],
  ['one is lost', lines('a1', 'a2'), lines('a2'), { arrived: 1, lost: ['a 1'] }],
  ['one came twice', lines('a1', 'a2'), lines('a1', 'a2', 'a1'), { doubled: ['a 1'], disordered: [] }],
  ['two changed places', lines('a1', 'a2'), lines('a2', 'a1'), { disordered: ['a 1 after 2'], lost: [] }],
  ['conversations have no order among them', lines('a1', 'b1'), lines('b1', 'a1'), { disordered: [] }],
  ['what was never sent here does not count', lines('a1'), lines('a1', 'a9'), { arrived: 1, doubled: [] }],
])('%s', (_, sent, seen, wanted) => {
  expect(sumsOf(sent, seen)).toMatchObject(wanted);
});
