import { judgeClock, judgeTransport } from './doctor.js';

test('doctor warns of a different clock and of plain HTTP', () => {
  const date = 'Sat, 21 Nov 2026 14:30:00 GMT';
  expect(judgeClock(date, Date.parse(date) + 5_000).result).toBe('ok');
  expect(judgeClock(date, Date.parse(date) - 31_000).result).toBe('warning');
  expect(['https://a.org', 'http://a.org'].map((url) => judgeTransport(url).result)).toEqual([
    'ok',
    'warning',
  ]);
});
