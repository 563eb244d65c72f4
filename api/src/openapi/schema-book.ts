import * as policy from '../policy/policy.js';
import * as resources from '../resources/index.js';
import { z } from 'zod';
import { hoist, type JsonSchema } from './hoist.js';

export type { JsonSchema };

/** Schemas of queries, whose fields become single parameters. */
const SPREAD = /Query$/;

/**
 * Shared components: the exported schemas of objects, and of unions of objects that one field distinguishes. Generated clients
 * take their names from the exports, and of other schemas from `.meta({ id })`.
 */
const NAMES: ReadonlyMap<unknown, string> = new Map(
  [...Object.entries(policy), ...Object.entries(resources)]
    .filter(
      ([name, value]) =>
        (value instanceof z.ZodObject || value instanceof z.ZodDiscriminatedUnion) && !SPREAD.test(name),
    )
    .map(([name, value]): [unknown, string] => [value, name]),
);

/** Registry of the schemas' metadata and names. */
class NamingRegistry extends z.core.$ZodRegistry<z.core.GlobalMeta> {
  override get<S extends z.core.$ZodType>(schema: S): z.core.$replace<z.core.GlobalMeta, S> | undefined {
    const meta = z.globalRegistry.get(schema);
    const id = NAMES.get(schema);
    return id === undefined ? meta : { ...meta, id };
  }
}

const registry = new NamingRegistry();
const LOCAL = '#/$defs/';
const SHARED = '#/components/schemas/';

/**
 * Converts zod schemas into JSON Schemas. Named ones become shared components. Schemas of answers allow additional fields,
 * because later versions may add some; the tests close them.
 */
export class SchemaBook {
  readonly components: Record<string, JsonSchema> = {};
  readonly #added = new Map<string, string>();

  add(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
    const made = z.toJSONSchema(schema, {
      io,
      metadata: registry,
      unrepresentable: 'any',
      override: (given) => tidy(given, io),
    });
    const { $defs = {}, ...root } = JSON.parse(
      JSON.stringify(made).replaceAll(`"${LOCAL}`, `"${SHARED}`),
    ) as JsonSchema & { $defs?: Record<string, JsonSchema> };
    delete root['$schema'];
    for (const [name, definition] of Object.entries($defs)) this.#name(name, definition);
    return root;
  }

  /** Returns the schema, or the component that it refers to. */
  resolve(schema: JsonSchema): JsonSchema {
    const { $ref } = schema as { $ref?: string };
    return $ref === undefined ? schema : this.components[$ref.slice(SHARED.length)]!;
  }

  #name(name: string, definition: JsonSchema): void {
    const text = JSON.stringify(definition);
    const known = this.#added.get(name);
    if (known === text) return;
    if (known !== undefined || name in this.components) {
      throw new Error(
        `two schemas are called ${name}; what is sent and what is answered need names of their own`,
      );
    }
    this.#added.set(name, text);
    this.components[name] = hoist(definition, name, this.components);
  }
}

interface Override {
  zodSchema: z.core.$ZodType;
  jsonSchema: JsonSchema;
}

/** Converts a record with known keys into an object, and omits `propertyNames` that only say string. */
function nameKeys(jsonSchema: JsonSchema): void {
  const { propertyNames, additionalProperties } = jsonSchema as {
    propertyNames?: { enum?: string[] };
  } & JsonSchema;
  delete jsonSchema['propertyNames'];
  if (!propertyNames?.enum) return;
  jsonSchema['properties'] = Object.fromEntries(propertyNames.enum.map((key) => [key, additionalProperties]));
  delete jsonSchema['additionalProperties'];
}

/** Names the field that chooses the variant, and the variant of each value. */
function discriminate({ zodSchema, jsonSchema }: Override): void {
  if (!(zodSchema instanceof z.ZodDiscriminatedUnion)) return;
  const { discriminator: propertyName, options } = zodSchema.def as z.core.$ZodDiscriminatedUnionDef<
    z.core.$ZodType[]
  >;
  const names = options.map((option) => registry.get(option)?.id);
  if (!names.every((name) => name !== undefined)) return;
  const mapping = options.flatMap((option, index) =>
    [...(option._zod.propValues?.[propertyName] ?? [])].map((value): [string, string] => [
      String(value),
      `${SHARED}${names[index]!}`,
    ]),
  );
  jsonSchema['discriminator'] = { propertyName, mapping: Object.fromEntries<string>(mapping) };
}

function tidy(given: Override, io: 'input' | 'output'): void {
  const { zodSchema, jsonSchema } = given;
  const { def } = zodSchema._zod;
  discriminate(given);
  // The format implies the pattern, which has 300 characters.
  if (jsonSchema['format'] === 'date-time' || jsonSchema['format'] === 'date') delete jsonSchema['pattern'];
  // `contentEncoding` says it; no registry has this format.
  if (jsonSchema['format'] === 'base64') delete jsonSchema['format'];
  nameKeys(jsonSchema);
  const open = def.type === 'object' && (def as z.core.$ZodObjectDef).catchall === undefined;
  if (open && io === 'output') delete jsonSchema['additionalProperties'];
}
