import { addProgress, FIRST_CREDIT_MS, LOOK_EVERY_MS, MIN_BYTES_PER_SECOND, subtractTime } from './pace.js';

/** Seconds until a transfer with this many bytes each second ends; null: it does not end within an hour. */
function endsAfter(bytesAt: (second: number) => number): number | null {
  let credit = FIRST_CREDIT_MS;
  for (let second = 1; second <= 3_600; second++) {
    credit = addProgress(credit, bytesAt(second));
    credit = subtractTime(credit, LOOK_EVERY_MS);
    if (credit < 0) return second;
  }
  return null;
}

test.each<[what: string, bytesAt: (second: number) => number, ends: number | null]>([
  ['stands', () => 0, 61],
  ['has half of the minimum rate', () => MIN_BYTES_PER_SECOND / 2, 121],
  ['has the minimum rate', () => MIN_BYTES_PER_SECOND, null],
  ['is a phone with 20 kB/s', () => 20_000, null],
  ['is a phone with 20 kB/s whose bytes leave in steps of 870 kB', (s) => (s % 43 === 0 ? 870_000 : 0), null],
  ['has 9 kB/s and its bytes leave in steps of 1.1 MB', (s) => (s % 122 === 1 ? 1_098_000 : 0), null],
  ['moves 50 MB at once and then stands', (s) => (s === 1 ? 50_000_000 : 0), 301],
  ['pauses for 50 s of every 100 s', (s) => (s % 100 < 50 ? 0 : 20_000), null],
])('a transfer that %s ends only if it is too slow', (_, bytesAt, ends) => {
  expect(endsAfter(bytesAt)).toBe(ends);
});

test('a pause of the process counts as two intervals', () => {
  expect(subtractTime(FIRST_CREDIT_MS, 600_000)).toBe(FIRST_CREDIT_MS - 2 * LOOK_EVERY_MS);
});
