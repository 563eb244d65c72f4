import { diffVote, toggleOption } from './votes.js';

describe('diffVote', () => {
  test.each<[string, number[], number[], { chosen: number[]; withdrawn: number[] }]>([
    ['selects with a first vote', [], [1], { chosen: [1], withdrawn: [] }],
    ['selects several options', [], [0, 2], { chosen: [0, 2], withdrawn: [] }],
    ['withdraws one and selects another', [0], [1], { chosen: [1], withdrawn: [0] }],
    ['keeps the first when another is added', [0], [0, 1], { chosen: [1], withdrawn: [] }],
    ['withdraws all with an empty vote', [0, 1], [], { chosen: [], withdrawn: [0, 1] }],
    ['changes nothing for the same vote', [1], [1], { chosen: [], withdrawn: [] }],
    ['counts a repeated option once', [], [1, 1], { chosen: [1], withdrawn: [] }],
  ])('%s', (_, before, now, expected) => {
    expect(diffVote(before, now)).toEqual(expected);
  });
});

describe('toggleOption', () => {
  test.each([
    { name: 'selects the option', before: [], place: 1, selectable: 1, now: [1] },
    { name: 'moves the only selection', before: [0], place: 1, selectable: 1, now: [1] },
    { name: 'adds a selection if several are allowed', before: [2], place: 1, selectable: 3, now: [1, 2] },
    { name: 'deselects the option', before: [1], place: 1, selectable: 1, now: [] },
    { name: 'deselects one of several', before: [0, 1], place: 0, selectable: 2, now: [1] },
  ])('$name', ({ before, place, selectable, now }) => {
    expect(toggleOption(before, place, selectable)).toEqual(now);
  });
});
