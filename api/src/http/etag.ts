import { Problem } from '@gwk/core/problems/problems';

/** Formats the version of a row as an entity tag. Fields that are queried live are not part of the version. */
export function formatEtag(version: number): string {
  return `"${version}"`;
}

/**
 * Compares `If-Match` with the version (RFC 9110, strong comparison: a weak tag never matches).
 * @throws Problem `precondition-failed`
 */
export function checkIfMatch(header: string | undefined, version: number): void {
  if (header === undefined || header.trim() === '*') return;
  const current = formatEtag(version);
  const accepted = header.split(',').map((tag) => tag.trim());
  if (!accepted.includes(current)) throw new Problem('precondition-failed');
}
