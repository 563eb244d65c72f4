import { lowestUuidAt, parseUuidTime } from '@gwk/core/ids/ids';
import { pageNewest, pageNewestQueued, upperBound, type IdRange } from './keyset-pages.js';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21, 12);
const daysAgo = (days: number): string => lowestUuidAt(NOW - days * DAY);

/** A table with these ids, and the requested ranges. */
function table(ids: readonly string[]) {
  const ranges: IdRange[] = [];
  const read = (range: IdRange, limit: number) => {
    ranges.push(range);
    const fitting = ids.filter((id) => id < range.before && (range.from === null || id >= range.from));
    return Promise.resolve([...fitting].sort().reverse().slice(0, limit));
  };
  return { ranges, read };
}

const all = [0.1, 0.5, 0.9, 3, 6, 20, 80].map(daysAgo);
const list = (given: { before?: string; from?: string; limit: number }, ids = all) => {
  const { ranges, read } = table(ids);
  const page = { before: given.before ?? null, from: given.from ?? null, limit: given.limit };
  return pageNewest(page, read, { now: NOW }).then((rows) => ({ rows, queries: ranges.length, ranges }));
};

describe('newest rows of a partitioned table', () => {
  it.each<[string, { before?: string; from?: string; limit: number }, string[], number]>([
    ['a page filled by the last two days takes one query', { limit: 3 }, all.slice(0, 3), 1],
    ['a page filled by the last week takes two queries', { limit: 5 }, all.slice(0, 5), 2],
    ['a page that is not filled returns all rows', { limit: 50 }, all, 3],
    [
      'a later page starts where the last one ended',
      { before: daysAgo(2.9), limit: 2 },
      [daysAgo(3), daysAgo(6)],
      2,
    ],
    ['reads nothing before the lower bound', { from: daysAgo(0.6), limit: 50 }, all.slice(0, 2), 1],
    ['a lower bound within the second query', { from: daysAgo(4), limit: 50 }, all.slice(0, 4), 2],
  ])('%s', async (_sentence, given, expected, queries) => {
    const seen = await list(given);
    expect(seen.rows).toEqual(expected);
    expect(seen.queries).toBe(queries);
  });

  it('includes rows dated a day ahead', async () => {
    const { rows } = await list({ limit: 1 }, [...all, daysAgo(-1)]);
    expect(rows).toEqual([daysAgo(-1)]);
  });

  it('are read in adjacent ranges; the last one is unbounded', async () => {
    const { ranges } = await list({ limit: 50 });
    expect(ranges[0]!.before).toBe(upperBound(null, NOW));
    for (const [index, range] of ranges.slice(1).entries()) expect(range.before).toBe(ranges[index]!.from);
    expect(ranges.at(-1)!.from).toBeNull();
  });

  it.each<[string, string | undefined]>([
    ['from the newest row', undefined],
    ['from an old row', daysAgo(31.7)],
  ])('%s, all ranges but the last start at a day boundary', async (_, before) => {
    const { ranges } = await list({ limit: 50, ...(before && { before }) });
    const days = ranges.slice(0, -1).map(({ from }) => parseUuidTime(from!) / DAY);
    expect(days.map((day) => day % 1)).toEqual([0, 0]);
    const own = Math.floor((before ? parseUuidTime(before) : NOW) / DAY);
    expect(days).toEqual([own - 1, own - 8]);
  });
});

describe('newest rows of a queue', () => {
  const names = Array.from({ length: 40 }, (_, index) => daysAgo(index / 100));
  const page = async (limit: number, exists: (index: number) => boolean, before: string | null = null) => {
    const amounts: number[] = [];
    const rows = await pageNewestQueued(
      { before, limit },
      (until, amount) => {
        amounts.push(amount);
        const fitting = names.filter((id) => until === null || id < until).slice(0, amount);
        return Promise.resolve(fitting.map((id) => ({ id })));
      },
      (ids) => Promise.resolve(ids.filter((id) => exists(names.indexOf(id)))),
    );
    return { rows: rows.map((id) => names.indexOf(id)), amounts };
  };

  it('are read with one query if all rows exist', async () => {
    expect(await page(3, () => true)).toEqual({ rows: [0, 1, 2], amounts: [3] });
  });

  it('continue from a cursor', async () => {
    expect(await page(3, () => true, names[36])).toEqual({ rows: [37, 38, 39], amounts: [3] });
  });

  it('fill the page with later rows if some are missing', async () => {
    expect(await page(3, (index) => index % 2 === 1)).toEqual({ rows: [1, 3, 5], amounts: [3, 12] });
  });

  it('end with the queue', async () => {
    expect(await page(3, (index) => index === 39)).toEqual({ rows: [39], amounts: [3, 12, 48] });
    expect((await page(3, () => false)).rows).toEqual([]);
  });
});
