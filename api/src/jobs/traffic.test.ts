import { nextHours } from './traffic.js';

const at = (time: string) => Date.parse(`2026-11-${time}Z`);
const next = (done: number | null, now: number) => {
  const hours = nextHours(done, now);
  return hours && [hours.from, hours.until].map((ms) => new Date(ms).toISOString().slice(8, 16));
};

test('counts the last 24 hours again once another hour has ended', () => {
  expect(next(at('26T10:00'), at('26T12:05'))).toEqual(['25T11:00', '26T11:00']);
  expect(next(at('26T11:00'), at('26T12:05'))).toBeNull();
});

test('counts each day of the last 31 once, if none was counted', () => {
  expect(next(null, at('30T10:30'))).toEqual(['30T09:00', '31T09:00']);
});

test('catches up a day at a time after a pause of the worker', () => {
  expect(next(at('20T09:00'), at('26T10:30'))).toEqual(['20T09:00', '21T09:00']);
  expect(next(at('26T08:00'), at('26T10:30'))).toEqual(['25T09:00', '26T09:00']);
});
