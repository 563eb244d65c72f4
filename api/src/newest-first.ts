import { lowestUuidAt, timeOfUuid } from '@gwk/core/ids';

/** Ids from one on (included) until another (left out); null: without end. */
export interface Span {
  from: string | null;
  before: string | null;
}

export interface NewestPage extends Span {
  limit: number;
}

/** The conditions of a span. */
export const within = ({ from, before }: Span): { id: { gte: string } | { lt: string } }[] => [
  ...(from === null ? [] : [{ id: { gte: from } }]),
  ...(before === null ? [] : [{ id: { lt: before } }]),
];

const DAY_MS = 86_400_000;
/** How far each look reaches back from the end of the page; the last one reaches all the way. */
const REACHES_MS = [DAY_MS, 8 * DAY_MS];

/**
 * The newest rows of a table that is partitioned by day, of which `read` has the newest of a span. A look at such a
 * table begins with a look at each partition that its condition does not rule out, ninety of them where only the last
 * one is wanted: so the last day is asked first, and what is older where that does not fill the page.
 */
export async function newestFirst<T>(
  { from, before, limit }: NewestPage,
  read: (span: Span, limit: number) => Promise<T[]>,
  now = Date.now(),
): Promise<T[]> {
  const end = before === null ? now : timeOfUuid(before);
  const rows: T[] = [];
  let until = before;
  for (const reach of [...REACHES_MS, null]) {
    const low = reach === null ? null : lowestUuidAt(end - reach);
    const isLast = low === null || (from !== null && low <= from);
    const start = isLast ? from : low;
    rows.push(...(await read({ from: start, before: until }, limit - rows.length)));
    if (isLast || rows.length >= limit) break;
    until = low;
  }
  return rows;
}
