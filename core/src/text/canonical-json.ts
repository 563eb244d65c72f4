/**
 * Serialises JSON with sorted keys (by UTF-16 code units) and without spaces. Requests that differ only in key order or
 * spacing give the same text, and so the same idempotency hash.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const object = value as Record<string, unknown>;
  // Appends to one string: every message takes this path, and building arrays would double its cost.
  let members = '';
  for (const key of Object.keys(object).sort()) {
    if (object[key] !== undefined) members += `,${JSON.stringify(key)}:${canonicalJson(object[key])}`;
  }
  return `{${members.slice(1)}}`;
}
