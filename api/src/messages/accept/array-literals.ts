/**
 * Arrays as Postgres reads them from text: `{a,NULL,c}`, given as one parameter. The drivers would look at each element
 * on its way through three layers; for a group of a hundred rows of twenty-five columns that costs more than all else.
 */

/** For elements that hold nothing that would need quotes: ids, numbers, booleans, times, names of the network. */
export function plainArray<T>(
  items: readonly T[],
  pick: (item: T) => string | number | boolean | null,
): string {
  let text = '';
  for (const item of items) text += `,${pick(item) ?? 'NULL'}`;
  return `{${text.slice(1)}}`;
}

/** For any text; quoted only where it has to be, because quotes cost more on the way than all else. */
export function textArray<T>(items: readonly T[], pick: (item: T) => string | null): string {
  let text = '';
  for (const item of items) {
    const value = pick(item);
    if (value === null) text += ',NULL';
    else text += PLAIN.test(value) ? `,${value}` : `,"${value.replace(SPECIAL, '\\$&')}"`;
  }
  return `{${text.slice(1)}}`;
}
const PLAIN = /^(?!null$)[a-z0-9@._:-]+$/i;
const SPECIAL = /["\\]/g;

/** As hex, for `decode(value, 'hex')`. */
export function hexArray<T>(items: readonly T[], pick: (item: T) => Buffer | null): string {
  let text = '';
  for (const item of items) text += `,${pick(item)?.toString('hex') ?? 'NULL'}`;
  return `{${text.slice(1)}}`;
}
