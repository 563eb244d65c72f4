/**
 * Arrays as Postgres reads them, most from text: `{a,NULL,c}`; each given as one parameter. The drivers would look at
 * each element on its way through three layers; for a group of a hundred rows of twenty-five columns that costs more than
 * all else. Of nothing but NULLs an array is empty: beyond its end Postgres finds NULL, and has nothing to read.
 */

/** For elements that hold nothing that would need quotes: ids, numbers, booleans, times, names of the network. */
export function plainArray<T>(
  items: readonly T[],
  pick: (item: T) => string | number | boolean | null,
): string {
  let text = '';
  let empty = true;
  for (const item of items) {
    const value = pick(item);
    empty &&= value === null;
    text += `,${value ?? 'NULL'}`;
  }
  return empty ? '{}' : `{${text.slice(1)}}`;
}

/** For any text; quoted only where it has to be, because quotes cost more on the way than all else. */
export function textArray<T>(items: readonly T[], pick: (item: T) => string | null): string {
  let text = '';
  let empty = true;
  for (const item of items) {
    const value = pick(item);
    empty &&= value === null;
    if (value === null) text += ',NULL';
    else text += PLAIN.test(value) ? `,${value}` : `,"${value.replace(SPECIAL, '\\$&')}"`;
  }
  return empty ? '{}' : `{${text.slice(1)}}`;
}
const PLAIN = /^(?!null$)[a-z0-9@._:-]+$/i;
const SPECIAL = /["\\]/g;

/**
 * Bytes as Postgres reads them without a text between: the driver sends a buffer as it is. As hex they would be twice as
 * long, and read digit by digit, twice.
 */
export function bytesArray<T>(items: readonly T[], pick: (item: T) => Uint8Array | null): Buffer {
  const values = items.map(pick);
  if (values.every((value) => value === null)) return EMPTY;
  const length = values.reduce((sum, value) => sum + LENGTH + (value?.length ?? 0), HEADER);
  const array = Buffer.allocUnsafe(length);
  let end = 0;
  for (const word of [DIMENSIONS, MAY_HOLD_NULL, BYTEA, values.length, FIRST_PLACE])
    end = array.writeInt32BE(word, end);
  for (const value of values) {
    end = array.writeInt32BE(value?.length ?? NULL_LENGTH, end);
    if (value === null) continue;
    array.set(value, end);
    end += value.length;
  }
  return array;
}
/** Of array_recv, in no dimension. */
const EMPTY = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17]);
/** Of array_recv: dimensions, whether there may be NULLs, the type of elements, their number, the place of the first. */
const [DIMENSIONS, MAY_HOLD_NULL, BYTEA, FIRST_PLACE] = [1, 1, 17, 1];
const HEADER = 20;
/** Before each element: how long it is. */
const LENGTH = 4;
const NULL_LENGTH = -1;
