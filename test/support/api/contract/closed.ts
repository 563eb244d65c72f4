/**
 * Returns a copy of the schema that allows no undeclared field. The document stays open for consumers; this service
 * must not send fields that it does not declare.
 */
export function closed<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(closed) as T;
  if (schema === null || typeof schema !== 'object') return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, closed(part)]));
  // An error then names the faults of the matching variant only.
  if (isDiscriminated(parts['oneOf'])) return { ...parts, discriminator: { propertyName: 'type' } } as T;
  const isOpen = parts['type'] === 'object' && 'properties' in parts && !('additionalProperties' in parts);
  return (isOpen ? { ...parts, additionalProperties: false } : parts) as T;
}

/** Whether a constant `type` tells the variants apart. */
function isDiscriminated(variants: unknown): boolean {
  if (!Array.isArray(variants)) return false;
  return (variants as { properties?: { type?: object } }[]).every(
    ({ properties }) => 'const' in (properties?.type ?? {}),
  );
}
