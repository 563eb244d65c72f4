import { EVENT_TYPES } from '@gwk/core/events';
import { MESSAGE_TYPES } from '@gwk/core/resources/message';
import { INSTANCE_STATES } from '@gwk/core/states';
import { pascalCase } from '@gwk/core/text/pascal-case';

/** JSON Schema 2020-12, which OpenAPI 3.1 uses unchanged. */
export type JsonSchema = Record<string, unknown>;

/** Lists of values that several schemas share. */
const SHARED: ReadonlyMap<string, string> = new Map(
  Object.entries({
    EventType: EVENT_TYPES,
    InstanceState: INSTANCE_STATES,
    MessageType: MESSAGE_TYPES,
  }).map(([name, values]) => [JSON.stringify(values), name]),
);

/** Endings that distinguish the schemas of one resource. */
const VARIANT = /(Out|Create|Update|Data)$/;
const PARTS = ['anyOf', 'oneOf', 'allOf'] as const;

/**
 * Moves objects and lists of values out of a component into components of their own. Otherwise each generator invents
 * names for them, such as `EventOutType0`.
 *
 * @returns the component, which refers to them
 */
export function hoist(
  definition: JsonSchema,
  owner: string,
  components: Record<string, JsonSchema>,
): JsonSchema {
  const base = owner.replace(VARIANT, '');

  function move(schema: JsonSchema, name: string): JsonSchema {
    if (!isNamed(schema)) return inside(schema, name);
    const values = SHARED.get(JSON.stringify(schema['enum']));
    const moved = inside(schema, name);
    const title = values ?? pick(name, moved);
    components[title] = moved;
    return { $ref: `#/components/schemas/${title}` };
  }

  /** The short name, unless another schema has it. */
  function pick(name: string, schema: JsonSchema): string {
    const text = JSON.stringify(schema);
    const free = [`${base}${name}`, `${owner}${name}`].find(
      (title) => !components[title] || JSON.stringify(components[title]) === text,
    );
    if (free === undefined) throw new Error(`two schemas are called ${owner}${name}`);
    return free;
  }

  function inside(schema: JsonSchema, name: string): JsonSchema {
    const made = { ...schema };
    if (isObject(made['properties'])) {
      made['properties'] = Object.fromEntries(
        Object.entries(made['properties']).map(([key, part]) => [
          key,
          move(part as JsonSchema, name + pascalCase(key)),
        ]),
      );
    }
    if (isObject(made['items'])) made['items'] = move(made['items'], name.replace(/s$/, ''));
    if (isObject(made['additionalProperties'])) {
      made['additionalProperties'] = move(made['additionalProperties'], `${name}Value`);
    }
    for (const key of PARTS) {
      const parts = made[key] as JsonSchema[] | undefined;
      if (parts) made[key] = parts.map((part) => move(part, name));
    }
    return made;
  }

  return inside(definition, '');
}

const isObject = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null;
const isNamed = (schema: JsonSchema): boolean =>
  'properties' in schema || 'enum' in schema || isObject(schema['additionalProperties']);
