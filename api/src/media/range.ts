/** Part of a file requested by a `Range` header (RFC 9110), both ends included. */
type RequestedRange =
  { kind: 'whole' } | { kind: 'part'; start: number; end: number } | { kind: 'unsatisfiable' };

const WHOLE: RequestedRange = { kind: 'whole' };
const ONE_RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** Ignores several ranges, other units and malformed headers, as RFC 9110 allows: the whole file is sent. */
export function parseRange(header: string | undefined, size: number): RequestedRange {
  const [, first = '', last = ''] = ONE_RANGE.exec(header ?? '') ?? [];
  if (first === '' && last === '') return WHOLE;
  if (first === '') return rangeWithin(Math.max(0, size - Number(last)), size - 1, size);
  if (last === '') return rangeWithin(Number(first), size - 1, size);
  if (Number(last) < Number(first)) return WHOLE;
  return rangeWithin(Number(first), Math.min(Number(last), size - 1), size);
}

function rangeWithin(start: number, end: number, size: number): RequestedRange {
  return start >= size ? { kind: 'unsatisfiable' } : { kind: 'part', start, end };
}
