import { z } from 'zod';
import { registry } from './names.js';

/** JSON Schema 2020-12, which OpenAPI 3.1 uses as it is. */
export type JsonSchema = Record<string, unknown>;

const LOCAL = '#/$defs/';
const SHARED = '#/components/schemas/';

/**
 * JSON Schemas of zod schemas. Those that have a name (names.ts) become shared components.
 * Answers are described open: a consumer has to bear fields that come later. (The tests close them again.)
 */
export class SchemaBook {
  readonly components: Record<string, JsonSchema> = {};

  input(schema: z.ZodType): JsonSchema {
    return this.#add(schema, 'input');
  }

  output(schema: z.ZodType): JsonSchema {
    return this.#add(schema, 'output');
  }

  #add(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
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

  #name(name: string, definition: JsonSchema): void {
    const known = this.components[name];
    if (known && JSON.stringify(known) !== JSON.stringify(definition)) {
      throw new Error(
        `two schemas are called ${name}; what is sent and what is answered need names of their own`,
      );
    }
    this.components[name] = definition;
  }
}

interface Override {
  zodSchema: z.core.$ZodType;
  jsonSchema: JsonSchema;
}

/** A record of known keys is an object of those; one of any keys says nothing by saying that they are texts. */
function nameKeys(jsonSchema: JsonSchema): void {
  const { propertyNames, additionalProperties } = jsonSchema as {
    propertyNames?: { enum?: string[] };
  } & JsonSchema;
  delete jsonSchema['propertyNames'];
  if (!propertyNames?.enum) return;
  jsonSchema['properties'] = Object.fromEntries(propertyNames.enum.map((key) => [key, additionalProperties]));
  delete jsonSchema['additionalProperties'];
}

function tidy({ zodSchema, jsonSchema }: Override, io: 'input' | 'output'): void {
  const { def } = zodSchema._zod;
  // The format says the same as the pattern, in fewer than 300 characters.
  if (jsonSchema['format'] === 'date-time' || jsonSchema['format'] === 'date') delete jsonSchema['pattern'];
  nameKeys(jsonSchema);
  const open = def.type === 'object' && (def as z.core.$ZodObjectDef).catchall === undefined;
  if (open && io === 'output') delete jsonSchema['additionalProperties'];
}
