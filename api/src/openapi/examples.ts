import type { JsonSchema } from './schema-book.js';

type Components = Readonly<Record<string, JsonSchema>>;

const BY_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2026-11-21T14:30:00.000Z',
  date: '2026-11-21',
  uri: 'https://example.com/files/catalog.pdf',
};

/**
 * A value that a schema allows: its own example where it brings one, else made from its parts. A schema whose parts
 * do not say enough brings one (`.meta({ examples })`); a test finds those that do not.
 */
export function exampleOf(schema: JsonSchema, components: Components): unknown {
  const {
    $ref,
    examples,
    enum: values,
    anyOf,
    allOf,
  } = schema as {
    $ref?: string;
    examples?: unknown[];
    enum?: unknown[];
    anyOf?: JsonSchema[];
    allOf?: JsonSchema[];
  };
  if (examples) return examples[0];
  if ($ref !== undefined) return exampleOf(components[$ref.split('/').at(-1)!]!, components);
  if ('const' in schema) return schema['const'];
  if ('default' in schema) return schema['default'];
  if (values) return values[0];
  if (anyOf) return exampleOf(anyOf[0]!, components);
  if (allOf) return Object.assign({}, ...allOf.map((part) => exampleOf(part, components)));
  return ofType(schema, components);
}

function ofType(schema: JsonSchema, components: Components): unknown {
  const { type } = schema as { type?: string | string[] };
  switch (Array.isArray(type) ? type[0] : type) {
    case 'object':
      return ofObject(schema, components);
    case 'array':
      return [exampleOf(schema['items'] as JsonSchema, components)];
    case 'string':
      return ofString(schema);
    case 'integer':
    case 'number':
      return schema['minimum'] ?? 0;
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function ofObject(schema: JsonSchema, components: Components): JsonSchema {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>);
  return Object.fromEntries(properties.map(([name, part]) => [name, exampleOf(part, components)]));
}

function ofString({ format, minLength, maxLength }: JsonSchema): string {
  const known = BY_FORMAT[format as string];
  if (known !== undefined) return known;
  const least = Math.max(Number(minLength ?? 0), 1);
  return 'example'.padEnd(least, '.').slice(0, Number(maxLength ?? Infinity));
}
