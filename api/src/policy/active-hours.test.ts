import { decideActiveHours } from './active-hours.js';

const SAO_PAULO = 'America/Sao_Paulo';
const NEW_YORK = 'America/New_York';

interface Row {
  name: string;
  window: [start: string, end: string, zone: string] | null;
  now: string;
  wrote?: string;
  /** `open`, or when the window opens. */
  then: string;
}

const rows: Row[] = [
  { name: 'always open without a window', window: null, now: '2026-03-10T03:00:00Z', then: 'open' },
  {
    name: 'open in the first minute of the window',
    window: ['09:00', '18:00', SAO_PAULO],
    now: '2026-03-10T12:00:00Z',
    then: 'open',
  },
  {
    name: 'closed at the end of the window, until the next morning',
    window: ['09:00', '18:00', SAO_PAULO],
    now: '2026-03-10T21:00:00Z',
    then: '2026-03-11T12:00:00.000Z',
  },
  {
    name: 'open in the last millisecond of the window',
    window: ['09:00', '18:00', SAO_PAULO],
    now: '2026-03-10T20:59:59.999Z',
    then: 'open',
  },
  {
    name: 'opens on the same day before the window',
    window: ['09:00', '18:00', SAO_PAULO],
    now: '2026-03-10T05:00:00Z',
    then: '2026-03-10T12:00:00.000Z',
  },
  {
    name: 'open for a contact who wrote 23:59 hours ago',
    window: ['09:00', '18:00', SAO_PAULO],
    now: '2026-03-10T05:00:00Z',
    wrote: '2026-03-09T05:01:00Z',
    then: 'open',
  },
  {
    name: 'closed for a contact who wrote 24 hours ago',
    window: ['09:00', '18:00', SAO_PAULO],
    now: '2026-03-10T05:00:00Z',
    wrote: '2026-03-09T05:00:00Z',
    then: '2026-03-10T12:00:00.000Z',
  },
  {
    name: 'open before midnight in a window over midnight',
    window: ['22:00', '06:00', 'UTC'],
    now: '2026-03-10T23:30:00Z',
    then: 'open',
  },
  {
    name: 'open after midnight in a window over midnight',
    window: ['22:00', '06:00', 'UTC'],
    now: '2026-03-10T05:59:00Z',
    then: 'open',
  },
  {
    name: 'closed by day with a window over midnight',
    window: ['22:00', '06:00', 'UTC'],
    now: '2026-03-10T12:00:00Z',
    then: '2026-03-10T22:00:00.000Z',
  },
  {
    name: 'always open if end equals start',
    window: ['08:00', '08:00', 'UTC'],
    now: '2026-03-10T08:00:00Z',
    then: 'open',
  },
  {
    name: 'uses the local day, not the day in UTC',
    window: ['09:00', '10:00', 'Pacific/Auckland'],
    now: '2026-07-10T20:30:00Z',
    then: '2026-07-10T21:00:00.000Z',
  },
  {
    name: 'supports zones with half-hour offsets',
    window: ['09:00', '18:00', 'Asia/Kolkata'],
    now: '2026-03-10T03:00:00Z',
    then: '2026-03-10T03:30:00.000Z',
  },
  {
    name: 'opens at standard time before daylight saving starts',
    window: ['09:00', '18:00', NEW_YORK],
    now: '2026-03-07T05:00:00Z',
    then: '2026-03-07T14:00:00.000Z',
  },
  {
    name: 'opens at summer time on the day that daylight saving starts',
    window: ['09:00', '18:00', NEW_YORK],
    now: '2026-03-08T06:00:00Z',
    then: '2026-03-08T13:00:00.000Z',
  },
  {
    name: 'opens at the clock change if daylight saving skips the start',
    window: ['02:30', '05:00', NEW_YORK],
    now: '2026-03-08T06:30:00Z',
    then: '2026-03-08T07:00:00.000Z',
  },
  {
    name: 'opens a day later if daylight saving skips the whole window',
    window: ['02:10', '02:50', NEW_YORK],
    now: '2026-03-08T06:30:00Z',
    then: '2026-03-09T06:10:00.000Z',
  },
  {
    name: 'opens at the first occurrence of a repeated start',
    window: ['01:30', '05:00', NEW_YORK],
    now: '2026-11-01T05:00:00Z',
    then: '2026-11-01T05:30:00.000Z',
  },
  {
    name: 'stays open while the clock is set back',
    window: ['01:30', '05:00', NEW_YORK],
    now: '2026-11-01T06:10:00Z',
    then: 'open',
  },
  {
    name: 'closes at the first occurrence of a repeated end',
    window: ['20:00', '01:30', NEW_YORK],
    now: '2026-11-01T05:40:00Z',
    then: '2026-11-02T01:00:00.000Z',
  },
];

const judge = ({ window, now, wrote }: Row, outside: 'reject' | 'schedule') =>
  decideActiveHours({
    hours: window && { start: window[0], end: window[1], timezone: window[2], outside },
    now: new Date(now),
    lastWroteAt: wrote === undefined ? null : new Date(wrote),
  });

describe.each(rows)('$name', (row) => {
  test('with reject', () => {
    expect(judge(row, 'reject')).toEqual({ do: row.then === 'open' ? 'accept' : 'refuse' });
  });

  test('with schedule', () => {
    const expected = row.then === 'open' ? { do: 'accept' } : { do: 'schedule', at: new Date(row.then) };
    expect(judge(row, 'schedule')).toEqual(expected);
  });
});

test('matches local time in each minute of a year, except around the two clock changes', () => {
  const hours = { start: '09:00', end: '18:00', timezone: NEW_YORK, outside: 'reject' } as const;
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: NEW_YORK, timeStyle: 'short' });
  const wrong: string[] = [];
  for (let now = Date.UTC(2026, 0, 1); now < Date.UTC(2027, 0, 1); now += 7 * 60_000) {
    const shown = clock.format(now);
    const expected = shown >= '09:00' && shown < '18:00' ? 'accept' : 'refuse';
    if (decideActiveHours({ hours, now: new Date(now), lastWroteAt: null }).do !== expected)
      wrong.push(shown);
  }
  expect(wrong).toEqual([]);
});
