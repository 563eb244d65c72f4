/** Parts of a JSON schema that samples need. */
interface Schema {
  $ref?: string;
  const?: unknown;
  enum?: unknown[];
  example?: unknown;
  examples?: unknown[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  type?: string | string[];
  format?: string;
  minimum?: number;
  properties?: Record<string, Schema>;
  items?: Schema;
}
interface SchemaDocument {
  components?: { schemas?: Record<string, Schema> };
}

/** Deepest nesting of a sample: a schema may contain itself. */
const MAX_DEPTH = 12;

/** The types of events in the OpenAPI document, with the schema of each. */
export function listEventSchemas(document: SchemaDocument): Map<string, Schema> {
  const { oneOf = [], anyOf = [] } = document.components?.schemas?.['EventOut'] ?? {};
  const schemas = [...oneOf, ...anyOf].map((schema) => resolve(document, schema));
  return new Map(
    schemas.flatMap((schema) => {
      const type = schema.properties?.['type'] ?? {};
      return [type.const, ...(type.enum ?? [])]
        .filter((name) => typeof name === 'string')
        .map((name): [string, Schema] => [name, schema]);
    }),
  );
}

/** A value of the schema, made of its examples. */
export function buildSample(document: SchemaDocument, given: Schema, now: Date, depth = 0): unknown {
  const schema = resolve(document, given);
  const [sample] = [schema.const, schema.example, schema.examples?.[0], schema.enum?.[0]].filter(
    (value) => value !== undefined,
  );
  if (sample !== undefined) return sample;
  const build = (part: Schema): unknown => buildSample(document, part, now, depth + 1);
  if (depth > MAX_DEPTH) return null;
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map(build)) as unknown;
  const choice = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].find(({ type }) => type !== 'null');
  if (choice) return build(choice);
  if (schema.properties)
    return Object.fromEntries(Object.entries(schema.properties).map(([name, part]) => [name, build(part)]));
  return buildPlain(schema, build, now);
}

function buildPlain(schema: Schema, build: (part: Schema) => unknown, now: Date): unknown {
  const type = [schema.type].flat().find((name) => name !== 'null');
  if (type === 'array') return schema.items ? [build(schema.items)] : [];
  if (type === 'string') return schema.format === 'date-time' ? now.toISOString() : 'example';
  if (type === 'boolean') return false;
  if (type === 'integer' || type === 'number') return Math.max(0, schema.minimum ?? 0);
  return type === 'object' ? {} : null;
}

function resolve({ components }: SchemaDocument, schema: Schema): Schema {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? schema : (components?.schemas?.[name] ?? {});
}
