import { diffVote, toggleOption } from './votes.js';

describe('what a vote changes', () => {
  test.each<[string, number[], number[], { chosen: number[]; withdrawn: number[] }]>([
    ['a first vote chooses', [], [1], { chosen: [1], withdrawn: [] }],
    ['a vote for several chooses each', [], [0, 2], { chosen: [0, 2], withdrawn: [] }],
    ['a moved vote withdraws one and chooses the other', [0], [1], { chosen: [1], withdrawn: [0] }],
    ['one more keeps the first', [0], [0, 1], { chosen: [1], withdrawn: [] }],
    ['an empty choice withdraws all', [0, 1], [], { chosen: [], withdrawn: [0, 1] }],
    ['the same choice again changes nothing', [1], [1], { chosen: [], withdrawn: [] }],
    ['an option told twice counts once', [], [1, 1], { chosen: [1], withdrawn: [] }],
  ])('%s', (_, before, now, expected) => {
    expect(diffVote(before, now)).toEqual(expected);
  });
});

describe('a tap on an option', () => {
  test.each([
    { what: 'marks it', before: [], place: 1, selectable: 1, now: [1] },
    { what: 'moves the only mark', before: [0], place: 1, selectable: 1, now: [1] },
    { what: 'adds a mark where several may be marked', before: [2], place: 1, selectable: 3, now: [1, 2] },
    { what: 'takes the mark away again', before: [1], place: 1, selectable: 1, now: [] },
    { what: 'takes one of several away', before: [0, 1], place: 0, selectable: 2, now: [1] },
  ])('$what', ({ before, place, selectable, now }) => {
    expect(toggleOption(before, place, selectable)).toEqual(now);
  });
});
