/**
 * Returns a copy of the schema that allows no undeclared field. The document stays open for consumers; this service
 * must not send fields that it does not declare.
 */
export function closed<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(closed) as T;
  if (schema === null || typeof schema !== 'object') return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, closed(part)]));
  // The validator takes the variants from their constants, and knows no mapping.
  if ('discriminator' in parts) {
    const { propertyName } = parts['discriminator'] as { propertyName: string };
    return { ...parts, discriminator: { propertyName } } as T;
  }
  const isOpen = parts['type'] === 'object' && 'properties' in parts && !('additionalProperties' in parts);
  return (isOpen ? { ...parts, additionalProperties: false } : parts) as T;
}
