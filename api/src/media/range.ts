/** The part of a file that a `Range` header asks for (RFC 9110): ends included. */
export type RangeVerdict =
  { kind: 'whole' } | { kind: 'part'; start: number; end: number } | { kind: 'unsatisfiable' };

const WHOLE: RangeVerdict = { kind: 'whole' };
const ONE_RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** Several ranges, other units and what is malformed are ignored, as the standard allows: the whole is sent. */
export function readRange(header: string | undefined, size: number): RangeVerdict {
  const [, first = '', last = ''] = ONE_RANGE.exec(header ?? '') ?? [];
  if (first === '' && last === '') return WHOLE;
  if (first === '') return partOf(Math.max(0, size - Number(last)), size - 1, size);
  if (last === '') return partOf(Number(first), size - 1, size);
  if (Number(last) < Number(first)) return WHOLE;
  return partOf(Number(first), Math.min(Number(last), size - 1), size);
}

function partOf(start: number, end: number, size: number): RangeVerdict {
  return start >= size ? { kind: 'unsatisfiable' } : { kind: 'part', start, end };
}
