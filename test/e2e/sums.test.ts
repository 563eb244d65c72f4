import { sumsOf, type Line } from './sums.js';

const lines = (...texts: string[]): Line[] =>
  texts.map((text) => ({ conversation: text[0]!, text: text.slice(1) }));

test.each<[sentence: string, sent: Line[], seen: Line[], wanted: object]>([
  [
    'finds no fault when all messages arrive in order',
    lines('a1', 'b1', 'a2'),
    lines('b1', 'a1', 'a2'),
    { lost: [], doubled: [], disordered: [] },
  ],
  ['finds a lost message', lines('a1', 'a2'), lines('a2'), { arrived: 1, lost: ['a 1'] }],
  [
    'finds a doubled message',
    lines('a1', 'a2'),
    lines('a1', 'a2', 'a1'),
    { doubled: ['a 1'], disordered: [] },
  ],
  [
    'finds two messages out of order',
    lines('a1', 'a2'),
    lines('a2', 'a1'),
    { disordered: ['a 1 after 2'], lost: [] },
  ],
  ['expects no order between conversations', lines('a1', 'b1'), lines('b1', 'a1'), { disordered: [] }],
  ['ignores messages that were not sent here', lines('a1'), lines('a1', 'a9'), { arrived: 1, doubled: [] }],
])('%s', (_, sent, seen, wanted) => {
  expect(sumsOf(sent, seen)).toMatchObject(wanted);
});
