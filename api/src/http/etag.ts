import { Problem } from '@gwk/core/problems';

/** The version of a row as an entity tag; what is queried live is no part of it. */
export function etagOf(version: number): string {
  return `"${version}"`;
}

/**
 * (spec: `If-Match`) Strong comparison: a weak tag matches nothing.
 * @throws Problem `precondition-failed`
 */
export function checkIfMatch(header: string | undefined, version: number): void {
  if (header === undefined || header.trim() === '*') return;
  const tags = header.split(',').map((tag) => tag.trim());
  if (!tags.includes(etagOf(version))) throw new Problem('precondition-failed');
}
