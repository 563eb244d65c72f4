import fc from 'fast-check';
import {
  computeAvailability,
  isMonth,
  monthAt,
  type AvailabilityInput,
  type StateInterval,
} from './availability.js';

const at = (time: string): number => Date.parse(time);
const HOUR = 3_600_000;

/** Each interval ends where the next one starts; the last one is the current state. */
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
  test('is 100 % when always connected', () => {
    const answer = ask({ intervals: states(['2026-01-01T00:00:00Z', 'connected']) });
    expect(answer).toMatchObject({ uptime: 100, up_seconds: 31 * 86_400, tracked_seconds: 31 * 86_400 });
    expect(answer.incidents).toEqual([]);
    expect(answer.days).toHaveLength(31);
    expect(answer.days[30]).toEqual({ date: '2026-03-31', uptime: 100 });
  });

  test('subtracts an outage of one hour from its month and its day', () => {
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

  test('reports an outage through several states as one incident with its first state', () => {
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

  test('starts an older outage at the start of the month, with the state that opened it', () => {
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

  test('ends a longer outage at the end of the month', () => {
    const intervals = states(
      ['2026-02-01T00:00:00Z', 'connected'],
      ['2026-03-31T23:00:00Z', 'banned', '463'],
    );
    expect(ask({ intervals }).incidents).toMatchObject([
      { end: at('2026-04-01T00:00:00Z'), duration_s: 3600 },
    ]);
  });
});

describe('time that is not measured', () => {
  test('starts the period at the first connection', () => {
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

  test('is null without any connection', () => {
    const answer = ask({ intervals: states(['2026-03-05T00:00:00Z', 'pending_pair']) });
    expect(answer).toMatchObject({ uptime: null, up_seconds: 0, tracked_seconds: 0, incidents: [] });
    expect(answer.period_start).toBe(at('2026-03-01T00:00:00Z'));
  });

  test('excludes pending_pair, but not other states without a connection', () => {
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

  test('excludes suspensions in any state', () => {
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

  test('reports no open incident during a suspension', () => {
    const answer = ask({
      intervals: states(['2026-03-01T00:00:00Z', 'connected'], ['2026-03-20T00:00:01Z', 'disconnected']),
      suspensions: [{ since: at('2026-03-20T00:00:00Z'), until: null }],
    });
    expect(answer).toMatchObject({ uptime: 100, incidents: [], tracked_seconds: 19 * 86_400 });
  });
});

describe('the current and the next month', () => {
  const intervals = states(['2026-03-01T00:00:00Z', 'connected'], ['2026-03-10T11:00:00Z', 'disconnected']);

  test('ends the current month now, and leaves a current outage open', () => {
    const answer = ask({ intervals, now: at('2026-03-10T12:00:00Z') });
    expect(answer.period_end).toBe(at('2026-03-10T12:00:00Z'));
    expect(answer.incidents).toMatchObject([{ end: null, duration_s: 3600 }]);
    expect(answer.days).toHaveLength(10);
  });

  test('measures nothing of a future month', () => {
    const answer = ask({ intervals, now: at('2026-03-10T12:00:00Z'), month: '2026-05' });
    expect(answer).toMatchObject({ uptime: null, tracked_seconds: 0, days: [], incidents: [] });
    expect(answer.period_end).toBe(at('2026-06-01T00:00:00Z'));
  });
});

describe('time zones', () => {
  test.each([
    ['adds an hour to a month in which daylight saving ends', '2018-02', 'America/Sao_Paulo', 28 * 24 + 1],
    [
      'removes an hour from a month in which daylight saving starts',
      '2018-11',
      'America/Sao_Paulo',
      30 * 24 - 1,
    ],
    ['supports a change of half an hour', '2026-04', 'Australia/Lord_Howe', 30 * 24 + 0.5],
    ['changes nothing in UTC', '2026-03', 'UTC', 31 * 24],
  ])('%s', (_, month, timezone, hours) => {
    const intervals = states(['2017-01-01T00:00:00Z', 'connected']);
    const answer = ask({ intervals, month, timezone, now: at('2027-01-01T00:00:00Z') });
    expect(answer.period_end - answer.period_start).toBe(hours * HOUR);
    expect(answer.tracked_seconds).toBe(hours * 3600);
  });

  test('computes the month of a moment in local time', () => {
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
 * Computes the same in another way: it asks Intl for the local date of each quarter of an hour, and adds up seconds.
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

test('agrees with an independent count for any month and time zone', () => {
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
