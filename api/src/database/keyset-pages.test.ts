import { lowestUuidAt, parseUuidTime } from '@gwk/core/ids';
import { newestFirst, newestQueued, upperEnd, type Span } from './keyset-pages.js';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21, 12);
const daysAgo = (days: number): string => lowestUuidAt(NOW - days * DAY);

/** Rows of these ids, read as the database would, and the spans that were asked for. */
function table(ids: readonly string[]) {
  const spans: Span[] = [];
  const read = (span: Span, limit: number) => {
    spans.push(span);
    const fitting = ids.filter((id) => id < span.before && (span.from === null || id >= span.from));
    return Promise.resolve([...fitting].sort().reverse().slice(0, limit));
  };
  return { spans, read };
}

const all = [0.1, 0.5, 0.9, 3, 6, 20, 80].map(daysAgo);
const list = (given: { before?: string; from?: string; limit: number }, ids = all) => {
  const { spans, read } = table(ids);
  const page = { before: given.before ?? null, from: given.from ?? null, limit: given.limit };
  return newestFirst(page, read, NOW).then((rows) => ({ rows, looks: spans.length, spans }));
};

describe('the newest of a partitioned table', () => {
  it.each<[string, { before?: string; from?: string; limit: number }, string[], number]>([
    ['a page that the last two days fill is read from those alone', { limit: 3 }, all.slice(0, 3), 1],
    ['a page that the week fills takes two looks', { limit: 5 }, all.slice(0, 5), 2],
    ['a page that nothing fills has all there is', { limit: 50 }, all, 3],
    [
      'a page deep in the past begins where the last one ended',
      { before: daysAgo(2.9), limit: 2 },
      [daysAgo(3), daysAgo(6)],
      2,
    ],
    [
      'nothing is looked for before what the caller named',
      { from: daysAgo(0.6), limit: 50 },
      all.slice(0, 2),
      1,
    ],
    ['the caller named a day within the second look', { from: daysAgo(4), limit: 50 }, all.slice(0, 4), 2],
  ])('%s', async (_sentence, given, expected, looks) => {
    const seen = await list(given);
    expect(seen.rows).toEqual(expected);
    expect(seen.looks).toBe(looks);
  });

  it('has rows whose clock is ahead of this one by a day', async () => {
    const { rows } = await list({ limit: 1 }, [...all, daysAgo(-1)]);
    expect(rows).toEqual([daysAgo(-1)]);
  });

  it('is read in spans that meet and do not overlap, the last one without an end', async () => {
    const { spans } = await list({ limit: 50 });
    expect(spans[0]!.before).toBe(upperEnd(null, NOW));
    for (const [index, span] of spans.slice(1).entries()) expect(span.before).toBe(spans[index]!.from);
    expect(spans.at(-1)!.from).toBeNull();
  });

  it.each<[string, string | undefined]>([
    ['from the newest on', undefined],
    ['from one deep in the past on', daysAgo(31.7)],
  ])(
    '%s, all looks but the last begin where days do, so that no partition is half wanted',
    async (_, before) => {
      const { spans } = await list({ limit: 50, ...(before && { before }) });
      const days = spans.slice(0, -1).map(({ from }) => parseUuidTime(from!) / DAY);
      expect(days.map((day) => day % 1)).toEqual([0, 0]);
      const own = Math.floor((before ? parseUuidTime(before) : NOW) / DAY);
      expect(days).toEqual([own - 1, own - 8]);
    },
  );
});

describe('the newest of what a queue names', () => {
  const names = Array.from({ length: 40 }, (_, index) => daysAgo(index / 100));
  const look = async (limit: number, isLeft: (place: number) => boolean, before: string | null = null) => {
    const amounts: number[] = [];
    const rows = await newestQueued(
      { before, limit },
      (until, amount) => {
        amounts.push(amount);
        const fitting = names.filter((id) => until === null || id < until).slice(0, amount);
        return Promise.resolve(fitting.map((id) => ({ id })));
      },
      (ids) => Promise.resolve(ids.filter((id) => isLeft(names.indexOf(id)))),
    );
    return { rows: rows.map((id) => names.indexOf(id)), amounts };
  };

  it('is read in one look where all of it is still there', async () => {
    expect(await look(3, () => true)).toEqual({ rows: [0, 1, 2], amounts: [3] });
  });

  it('goes on from a cursor', async () => {
    expect(await look(3, () => true, names[36])).toEqual({ rows: [37, 38, 39], amounts: [3] });
  });

  it('is a whole page where some have left meanwhile: those that follow take their place', async () => {
    expect(await look(3, (place) => place % 2 === 1)).toEqual({ rows: [1, 3, 5], amounts: [3, 12] });
  });

  it('ends with the queue, however few are left', async () => {
    expect(await look(3, (place) => place === 39)).toEqual({ rows: [39], amounts: [3, 12, 48] });
    expect((await look(3, () => false)).rows).toEqual([]);
  });
});
