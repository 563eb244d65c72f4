/**
 * A schema that allows no field beyond those that it names: what the document leaves open for consumers, the tests
 * of this service must not.
 */
export function closed<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(closed) as T;
  if (schema === null || typeof schema !== 'object') return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, closed(part)]));
  const isOpen = parts['type'] === 'object' && 'properties' in parts && !('additionalProperties' in parts);
  return (isOpen ? { ...parts, additionalProperties: false } : parts) as T;
}
