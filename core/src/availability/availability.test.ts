import fc from 'fast-check';
import { computeAvailability, isMonth, monthAt, type AvailabilityInput } from './availability.js';
import type { StateInterval } from './intervals.js';

const at = (time: string): number => Date.parse(time);
const HOUR = 3_600_000;

/** Each interval ends where the next begins; the last is the present state. */
function states(...given: [time: string, state: string, reason?: string][]): StateInterval[] {
  return given.map(([time, state, reason], index) => ({
    state,
    reason: reason ?? null,
    since: at(time),
    until: given[index + 1] ? at(given[index + 1]![0]) : null,
  }));
}

function ask(question: Partial<AvailabilityInput> & Pick<AvailabilityInput, 'intervals'>) {
  const first = question.intervals.find(({ state }) => state === 'connected');
  return computeAvailability({
    suspensions: [],
    firstConnectedAt: first?.since ?? null,
    month: '2026-03',
    timezone: 'UTC',
    now: at('2026-04-02T00:00:00Z'),
    ...question,
  });
}

describe('a whole month', () => {
  test('connected all the time is 100', () => {
    const answer = ask({ intervals: states(['2026-01-01T00:00:00Z', 'connected']) });
    expect(answer).toMatchObject({ uptime: 100, up_seconds: 31 * 86_400, tracked_seconds: 31 * 86_400 });
    expect(answer.incidents).toEqual([]);
    expect(answer.days).toHaveLength(31);
    expect(answer.days[30]).toEqual({ date: '2026-03-31', uptime: 100 });
  });

  test('an outage of one hour takes 0.13 of 31 days, and 4.17 of its day', () => {
    const answer = ask({
      intervals: states(
        ['2026-01-01T00:00:00Z', 'connected'],
        ['2026-03-10T10:00:00Z', 'disconnected', 'connection_lost'],
        ['2026-03-10T11:00:00Z', 'connected'],
      ),
    });
    expect(answer.uptime).toBe(99.87);
    expect(answer.days[9]).toEqual({ date: '2026-03-10', uptime: 95.83 });
    expect(answer.incidents).toEqual([
      {
        start: at('2026-03-10T10:00:00Z'),
        end: at('2026-03-10T11:00:00Z'),
        duration_s: 3600,
        state: 'disconnected',
        reason: 'connection_lost',
      },
    ]);
  });

  test('an outage through several states is one incident, and bears the state that opened it', () => {
    const answer = ask({
      intervals: states(
        ['2026-01-01T00:00:00Z', 'connected'],
        ['2026-03-10T10:00:00Z', 'disconnected', 'connection_lost'],
        ['2026-03-10T10:00:05Z', 'connecting'],
        ['2026-03-10T10:00:07Z', 'disconnected', 'timed_out'],
        ['2026-03-10T10:01:00Z', 'connected'],
      ),
    });
    expect(answer.incidents).toMatchObject([
      { duration_s: 60, state: 'disconnected', reason: 'connection_lost' },
    ]);
  });

  test('an outage that began before the month bears what opened it, and begins with the month', () => {
    const answer = ask({
      intervals: states(
        ['2026-02-01T00:00:00Z', 'connected'],
        ['2026-02-28T23:00:00Z', 'disconnected', 'connection_lost'],
        ['2026-02-28T23:59:00Z', 'logged_out', 'device_removed'],
        ['2026-03-01T02:00:00Z', 'connected'],
      ),
    });
    expect(answer.incidents).toMatchObject([
      {
        start: at('2026-03-01T00:00:00Z'),
        duration_s: 2 * 3600,
        state: 'disconnected',
        reason: 'connection_lost',
      },
    ]);
  });

  test('an outage that goes on after the month ends with it', () => {
    const intervals = states(
      ['2026-02-01T00:00:00Z', 'connected'],
      ['2026-03-31T23:00:00Z', 'banned', '463'],
    );
    expect(ask({ intervals }).incidents).toMatchObject([
      { end: at('2026-04-01T00:00:00Z'), duration_s: 3600 },
    ]);
  });
});

describe('what is not measured', () => {
  test('before the first connection: the period begins there', () => {
    const answer = ask({
      intervals: states(
        ['2026-03-05T00:00:00Z', 'pending_pair'],
        ['2026-03-10T00:00:00Z', 'connecting'],
        ['2026-03-11T00:00:00Z', 'connected'],
      ),
    });
    expect(answer.period_start).toBe(at('2026-03-11T00:00:00Z'));
    expect(answer).toMatchObject({ uptime: 100, tracked_seconds: 21 * 86_400, incidents: [] });
    expect(answer.days[9]).toEqual({ date: '2026-03-10', uptime: null });
  });

  test('never connected: null, and no seconds', () => {
    const answer = ask({ intervals: states(['2026-03-05T00:00:00Z', 'pending_pair']) });
    expect(answer).toMatchObject({ uptime: null, up_seconds: 0, tracked_seconds: 0, incidents: [] });
    expect(answer.period_start).toBe(at('2026-03-01T00:00:00Z'));
  });

  test('pending_pair after a logout, while other states without connection count', () => {
    const answer = ask({
      intervals: states(
        ['2026-03-01T00:00:00Z', 'connected'],
        ['2026-03-02T00:00:00Z', 'pending_pair', 'logout'],
        ['2026-03-03T00:00:00Z', 'connected'],
        ['2026-03-04T00:00:00Z', 'logged_out', 'device_removed'],
        ['2026-03-05T00:00:00Z', 'connected'],
      ),
    });
    expect(answer.tracked_seconds).toBe(30 * 86_400);
    expect(answer.up_seconds).toBe(29 * 86_400);
    expect(answer.days.slice(1, 4).map(({ uptime }) => uptime)).toEqual([null, 100, 0]);
  });

  test('suspensions, whatever the state says then', () => {
    const answer = ask({
      intervals: states(
        ['2026-03-01T00:00:00Z', 'connected'],
        ['2026-03-02T00:00:10Z', 'disconnected', 'engine_stopped'],
        ['2026-03-03T00:00:00Z', 'connected'],
      ),
      suspensions: [{ since: at('2026-03-02T00:00:00Z'), until: at('2026-03-02T23:59:50Z') }],
    });
    expect(answer.incidents).toMatchObject([{ start: at('2026-03-02T23:59:50Z'), duration_s: 10 }]);
    expect(answer.tracked_seconds).toBe(30 * 86_400 + 10);
  });

  test('a suspension that lasts: nothing is down now', () => {
    const answer = ask({
      intervals: states(['2026-03-01T00:00:00Z', 'connected'], ['2026-03-20T00:00:01Z', 'disconnected']),
      suspensions: [{ since: at('2026-03-20T00:00:00Z'), until: null }],
    });
    expect(answer).toMatchObject({ uptime: 100, incidents: [], tracked_seconds: 19 * 86_400 });
  });
});

describe('the month and the present', () => {
  const intervals = states(['2026-03-01T00:00:00Z', 'connected'], ['2026-03-10T11:00:00Z', 'disconnected']);

  test('the present month ends now, and what is down is still down', () => {
    const answer = ask({ intervals, now: at('2026-03-10T12:00:00Z') });
    expect(answer.period_end).toBe(at('2026-03-10T12:00:00Z'));
    expect(answer.incidents).toMatchObject([{ end: null, duration_s: 3600 }]);
    expect(answer.days).toHaveLength(10);
  });

  test('of a month to come nothing is measured', () => {
    const answer = ask({ intervals, now: at('2026-03-10T12:00:00Z'), month: '2026-05' });
    expect(answer).toMatchObject({ uptime: null, tracked_seconds: 0, days: [], incidents: [] });
    expect(answer.period_end).toBe(at('2026-06-01T00:00:00Z'));
  });
});

describe('time zones', () => {
  test.each([
    [
      'a month into which the clock is put back has an hour more',
      '2018-02',
      'America/Sao_Paulo',
      28 * 24 + 1,
    ],
    ['a month into which it is put forward has one less', '2018-11', 'America/Sao_Paulo', 30 * 24 - 1],
    ['half an hour is enough', '2026-04', 'Australia/Lord_Howe', 30 * 24 + 0.5],
    ['UTC has none', '2026-03', 'UTC', 31 * 24],
  ])('%s', (_, month, timezone, hours) => {
    const intervals = states(['2017-01-01T00:00:00Z', 'connected']);
    const answer = ask({ intervals, month, timezone, now: at('2027-01-01T00:00:00Z') });
    expect(answer.period_end - answer.period_start).toBe(hours * HOUR);
    expect(answer.tracked_seconds).toBe(hours * 3600);
  });

  test('the month of a moment is that of the zone', () => {
    expect(monthAt(at('2026-03-01T02:00:00Z'), 'America/Sao_Paulo')).toBe('2026-02');
    expect(monthAt(at('2026-03-01T03:00:00Z'), 'America/Sao_Paulo')).toBe('2026-03');
  });
});

test.each([
  ['2026-01', true],
  ['1970-12', true],
  ['2026-13', false],
  ['2026-00', false],
  ['2026-1', false],
  ['1969-12', false],
  ['0000-01', false],
  ['8999-12', true],
  ['9999-12', false],
  ['2026-01-01', false],
  [' 2026-01', false],
])('%j is a month: %s', (text, expected) => {
  expect(isMonth(text)).toBe(expected);
});

/**
 * The same by another way: the days are found by asking the zone's clock for the date at every quarter of an hour,
 * and the seconds are counted one by one.
 */
function countSeconds(question: AvailabilityInput): Map<string, { up: number; tracked: number }> {
  const date = new Intl.DateTimeFormat('en-CA', { timeZone: question.timezone, dateStyle: 'short' });
  const days = new Map<string, { up: number; tracked: number }>();
  const from = at(`${question.month}-01T00:00:00Z`) - 24 * HOUR;
  for (let quarter = from; quarter < from + 34 * 24 * HOUR; quarter += HOUR / 4) {
    const day = date.format(quarter);
    if (!day.startsWith(question.month)) continue;
    const sums = days.get(day) ?? { up: 0, tracked: 0 };
    days.set(day, sums);
    for (const { state, since, until } of question.intervals) {
      const start = Math.max(since, quarter, question.firstConnectedAt ?? Infinity);
      const end = Math.min(until ?? question.now, quarter + HOUR / 4, question.now);
      if (state === 'pending_pair' || end <= start) continue;
      sums.tracked += (end - start) / 1000;
      if (state === 'connected') sums.up += (end - start) / 1000;
    }
  }
  return days;
}

test('any month in any zone agrees with seconds counted one by one', () => {
  const zones = [
    'America/Sao_Paulo',
    'America/Havana',
    'Asia/Beirut',
    'Australia/Lord_Howe',
    'Europe/London',
    'UTC',
  ];
  const months = ['2018-02', '2018-11', '2019-03', '2019-10', '2026-03', '2026-10'];
  const names = ['connected', 'disconnected', 'connecting', 'pending_pair', 'logged_out', 'banned'];
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.constantFrom(...months),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 9 * 86_400 }), fc.constantFrom(...names)), {
        maxLength: 12,
      }),
      fc.integer({ min: 1, max: 45 * 86_400 }),
      (timezone, month, lengths, nowAfter) => {
        const start = at(`${month}-01T00:00:00Z`) - 3 * 24 * HOUR;
        const now = start + nowAfter * 1000;
        let since = start;
        const intervals: StateInterval[] = [];
        for (const [seconds, state] of lengths) {
          if (since >= now) break;
          const until = since + seconds * 1000;
          intervals.push({ state, reason: null, since, until: until < now ? until : null });
          since = until;
        }
        const firstConnectedAt = intervals.find(({ state }) => state === 'connected')?.since ?? null;
        const question = { intervals, suspensions: [], firstConnectedAt, month, timezone, now };
        const answer = computeAvailability(question);
        const days = countSeconds(question);
        const sum = (key: 'up' | 'tracked') => [...days.values()].reduce((total, day) => total + day[key], 0);
        expect(answer.up_seconds).toBe(sum('up'));
        expect(answer.tracked_seconds).toBe(sum('tracked'));
        for (const { date, uptime } of answer.days) {
          const { up, tracked } = days.get(date)!;
          expect(uptime).toBe(tracked === 0 ? null : Math.round((up / tracked) * 10_000) / 100);
        }
        const down = answer.incidents.reduce((total, { duration_s }) => total + duration_s, 0);
        expect(down).toBe(answer.tracked_seconds - answer.up_seconds);
      },
    ),
    { numRuns: 60 },
  );
});
