import { setImmediate as nextTurn } from 'node:timers/promises';
import { waitForTurn } from './turns.js';

test('one piece starts in four turns of the event loop, in order', async () => {
  const started: number[] = [];
  const pieces = Array.from({ length: 10 }, (_, piece) => waitForTurn().then(() => started.push(piece)));
  const counts: number[] = [];
  for (let turn = 0; turn < 44; turn++) {
    await nextTurn();
    counts.push(started.length);
  }
  const inFourTurns = counts.slice(4).map((count, index) => count - counts[index]!);
  expect(Math.max(...inFourTurns)).toBe(1);
  await Promise.all(pieces);
  expect(started).toEqual(pieces.map((_, piece) => piece));
});

test('work that comes after a pause starts', async () => {
  await waitForTurn();
  await nextTurn();
  await waitForTurn();
});
