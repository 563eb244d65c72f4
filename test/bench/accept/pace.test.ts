import { Pace } from './pace.js';

const sentBy = (pace: Pace, sent: number[] = []) => ({
  sent,
  free: (now: number) => pace.free(now, (dueAt) => sent.push(dueAt)),
});

test('without a rate, each free connection sends at once', () => {
  const { sent, free } = sentBy(new Pace(undefined, 0));
  free(3);
  free(7);
  expect(sent).toEqual([3, 7]);
});

test('with a rate, sends requests when they are due', () => {
  const pace = new Pace(100, 0);
  const { sent, free } = sentBy(pace);
  for (let i = 0; i < 5; i++) free(0);
  pace.tick(5);
  expect(sent).toEqual([0]);
  pace.tick(31);
  expect(sent).toEqual([0, 10, 20, 30]);
});

test('measures a request that waited for a connection from its due time', () => {
  const pace = new Pace(100, 0);
  const { sent, free } = sentBy(pace);
  pace.tick(25);
  expect(sent).toEqual([]);
  free(500);
  free(500);
  expect(sent).toEqual([0, 10]);
});
