import { describe, expect, it } from '@jest/globals';
import { lowestUuidAt } from '@gwk/core/ids';
import { newestFirst, type Span } from './newest-first.js';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 10, 21, 12);
const daysAgo = (days: number): string => lowestUuidAt(NOW - days * DAY);

/** Rows of these ids, read as the database would, and the spans that were asked for. */
function table(ids: readonly string[]) {
  const spans: Span[] = [];
  const read = (span: Span, limit: number) => {
    spans.push(span);
    const fitting = ids.filter(
      (id) => (span.before === null || id < span.before) && (span.from === null || id >= span.from),
    );
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
    ['a page that today fills is read from today alone', { limit: 3 }, all.slice(0, 3), 1],
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

  it('has rows whose clock is ahead of this one', async () => {
    const { rows } = await list({ limit: 1 }, [...all, daysAgo(-1)]);
    expect(rows).toEqual([daysAgo(-1)]);
  });

  it('is read in spans that meet and do not overlap, the last one without an end', async () => {
    const { spans } = await list({ limit: 50 });
    expect(spans[0]!.before).toBeNull();
    for (const [index, span] of spans.slice(1).entries()) expect(span.before).toBe(spans[index]!.from);
    expect(spans.at(-1)!.from).toBeNull();
  });
});
