/**
 * JSON with object keys in code-unit order and no spacing: two bodies that say the same give the same text
 * (design: the same JSON in another key order or spacing is the same request).
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const object = value as Record<string, unknown>;
  // One text that grows: this is paid for by every message, and arrays on the way cost half of it.
  let members = '';
  for (const key of Object.keys(object).sort()) {
    if (object[key] !== undefined) members += `,${JSON.stringify(key)}:${canonicalJson(object[key])}`;
  }
  return `{${members.slice(1)}}`;
}
