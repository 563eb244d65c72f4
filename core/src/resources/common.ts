import { z } from 'zod';
import { fromPublicId, ID_PREFIXES, type IdKind } from '../ids.js';

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
        const length = value.length <= max ? value.length : codePoints(value);
        const issue = (message: string) => ctx.addIssue({ code: 'custom', message });
        if (codePoints(value) < min) issue(`at least ${min} characters`);
        if (length > max) issue(`at most ${max} characters`);
        if (value.includes('\u0000')) issue('must not contain NUL');
        else if (!value.isWellFormed()) issue('must be well-formed Unicode');
      })
      // JSON Schema also counts code points.
      .meta({ ...(min > 0 && { minLength: min }), maxLength: max })
  );
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
