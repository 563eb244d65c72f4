const MARK = '…';
/** Longest grapheme that is kept whole, in UTF-16 units. The longest emoji in use has 35. */
const MAX_GRAPHEME = 100;
let segmenter: Intl.Segmenter | undefined;

/** Limits a text to `max` UTF-16 units, the mark of the cut included. It ends with a whole grapheme. */
export function limitText(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, findGraphemeEnd(text, max - MARK.length)) + MARK;
}

/** Null for a text that shows nothing. */
export const limitName = (text: string | null | undefined, max: number): string | null =>
  text?.trim() ? limitText(text, max) : null;

function findGraphemeEnd(text: string, end: number): number {
  const start = Math.max(0, end - MAX_GRAPHEME);
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  const { index } = segmenter.segment(text.slice(start, end + MAX_GRAPHEME)).containing(end - start)!;
  if (index > 0) return start + index;
  // The grapheme is longer. A cut between two code points is good enough.
  return /[\uDC00-\uDFFF]/.test(text[end]!) ? end - 1 : end;
}
