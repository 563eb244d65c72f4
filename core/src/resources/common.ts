import { z } from 'zod';
import { fromPublicId, ID_PREFIXES, type IdKind } from '../ids/ids.js';
import { USERNAME } from '../ids/recipients.js';
import { isVisible } from '../text/text-folding.js';

/** Schemas and limits that all resources share. */
const PAGE_LIMIT_DEFAULT = 50;
const PAGE_LIMIT_MAX = 200;
export const MAX_JSON_BODY_BYTES = 1_000_000;

/** Text whose length counts Unicode code points, not UTF-16 units. NUL is refused, because Postgres cannot store it. */
export function text(min: number, max: number) {
  return (
    z
      .string()
      .superRefine((value, ctx) => {
        const issue = (message: string) => ctx.addIssue({ code: 'custom', message });
        // A code point has one or two UTF-16 units, so most lengths decide without counting.
        if (value.length < 2 * min && codePoints(value) < min) issue(`at least ${min} characters`);
        if (value.length > 2 * max || (value.length > max && codePoints(value) > max))
          issue(`at most ${max} characters`);
        if (value.includes('\u0000')) issue('must not contain NUL');
        else if (!value.isWellFormed()) issue('must be well-formed Unicode');
      })
      // JSON Schema also counts code points.
      .meta({ ...(min > 0 && { minLength: min }), maxLength: max })
  );
}

/** Text that people see. Text of spaces or other invisible characters is refused. */
export function visibleText(max: number) {
  return text(1, max).refine(isVisible, BLANK);
}

const BLANK = { message: 'must not be blank' };

/** Code points of a grapheme. The longest emoji in use has 10. */
const MAX_GRAPHEME = 16;
const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Label on a phone, whose length counts graphemes: a family emoji is one character. */
export function label(min: 0 | 1, max: number) {
  const maxCodePoints = max * MAX_GRAPHEME;
  return text(min, maxCodePoints)
    .refine((value) => value.length <= max || countGraphemes(value.slice(0, 2 * maxCodePoints), max) <= max, {
      message: `at most ${max} characters`,
    })
    .refine((value) => min === 0 || isVisible(value), BLANK)
    .meta({ description: `At most ${max} characters as people see them (graphemes).` });
}

/** Counts up to `max` + 1. */
export function countGraphemes(value: string, max: number): number {
  const graphemes = segmenter.segment(value)[Symbol.iterator]();
  let count = 0;
  while (count <= max && !graphemes.next().done) count++;
  return count;
}

export function codePoints(value: string): number {
  let count = 0;
  for (let i = 0; i < value.length; i++, count++) {
    const unit = value.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff && i + 1 < value.length) i++;
  }
  return count;
}

/** An id in a body. It accepts any text, because the API answers malformed ids like unknown ones. */
export const idText = () => z.string();

export const publicId = (kind: IdKind) =>
  z.string().refine((id) => fromPublicId(kind, id) !== null, { message: `not an id of the form ${kind}` });

/** An id in a response. */
export const idOut = (kind: IdKind) =>
  z
    .string()
    .regex(new RegExp(`^${ID_PREFIXES[kind]}[0-9a-f]{32}$`))
    .meta({ examples: [`${ID_PREFIXES[kind]}0199f3a27c1e7b04a1d25c3e8f902b67`] });

export const dateTime = () => z.iso.datetime({ offset: true });

export const PageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(PAGE_LIMIT_MAX).default(PAGE_LIMIT_DEFAULT),
  cursor: z.string().max(500).optional(),
});

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

export const Username = z
  .string()
  .regex(USERNAME)
  .meta({ examples: ['ana.souza'] });
