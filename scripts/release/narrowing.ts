/** Finds what a later description of an interface no longer offers: OpenAPI, CRD, JSON schema or a list of metrics. */

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Tree = { [key: string]: Json };

/** Texts for people. */
const TEXTS = new Set(['description', 'summary', 'example', 'examples', 'title', 'info', 'servers', 'tags']);
/** Fields of a schema whose new or lower value excludes something. */
const UPPER = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];
const LOWER = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
/** Fields of a schema that exclude something if they come or change. */
const RULES = ['pattern', 'format', 'const', 'not', 'x-kubernetes-validations', '$ref'];
/** Maps whose keys are names, not words of the description. */
const NAMES = new Set([
  'properties',
  'schemas',
  'patternProperties',
  '$defs',
  'definitions',
  'metrics',
  'labels',
]);
/** gwk alone fills these: a new field that is always there narrows nothing, but a lost one does. */
const FILLED_BY_GWK = /\/(?:responses|webhooks|headers|answers)\//;

const isTree = (value: Json | undefined): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isDeprecated = (value: Json | undefined): boolean => isTree(value) && value['deprecated'] === true;
const list = (value: Json | undefined): string[] =>
  (Array.isArray(value) ? value : value === undefined ? [] : [value]).map((one) => JSON.stringify(one));

/** @returns a line for each loss, with its place */
export function findNarrowings(former: Json, now: Json | undefined, place = ''): string[] {
  if (isDeprecated(former) && now === undefined) return [];
  if (!isTree(former)) return [];
  if (!isTree(now)) return [`${place}: removed`];
  const inNames = NAMES.has(place.slice(place.lastIndexOf('/') + 1));
  const nullable = FILLED_BY_GWK.test(place) && !acceptsNull(former) && acceptsNull(now);
  const keys = new Set([...Object.keys(former), ...Object.keys(now)]);
  const found = [...keys].flatMap((key) => {
    const at = `${place}/${key}`;
    if (inNames) return key in former ? findNarrowings(former[key]!, now[key], at) : [];
    return TEXTS.has(key) ? [] : compareWord(key, former[key], now[key], at);
  });
  return nullable ? [`${place}: may be null`, ...found] : found;
}

function acceptsNull(schema: Json): boolean {
  if (!isTree(schema)) return false;
  const options = schema['anyOf'] ?? schema['oneOf'];
  return list(schema['type']).includes('"null"') || (Array.isArray(options) && options.some(acceptsNull));
}

/** Names of the schemas that a part of an OpenAPI document mentions, directly or through other schemas. */
function findMentioned(part: Json, schemas: Tree, found = new Set<string>()): Set<string> {
  for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (found.has(name!)) continue;
    found.add(name!);
    findMentioned(schemas[name!] ?? null, schemas, found);
  }
  return found;
}

/** Moves the schemas of an OpenAPI document that only gwk fills, and copies those that both sides fill. */
export function splitByDirection(document: Json): Json {
  const components = isTree(document) ? document['components'] : undefined;
  const schemas = isTree(components) ? components['schemas'] : undefined;
  if (!isTree(document) || !isTree(components) || !isTree(schemas)) return document;
  const keep = (skipped: string) =>
    JSON.parse(JSON.stringify(document), (key, value: Json) => (key === skipped ? undefined : value)) as Tree;
  const sent = [keep('responses')['paths'] ?? null, components['parameters'] ?? null];
  const answered = [keep('requestBody')['paths'] ?? null, document['webhooks'] ?? null];
  const requests = findMentioned(sent, schemas);
  const answers = findMentioned([...answered, components['responses'] ?? null], schemas);
  const select = (wanted: (name: string) => boolean): Tree =>
    Object.fromEntries(Object.entries(schemas).filter(([name]) => wanted(name)));
  return {
    ...document,
    components: {
      ...components,
      schemas: select((name) => requests.has(name)),
      answers: { schemas: select((name) => answers.has(name) || !requests.has(name)) },
    },
  };
}

type Comparison = (former: Json | undefined, now: Json | undefined, at: string) => string[];

const isLower: Comparison = (former, now, at) =>
  isBelow(now, former, Infinity) ? [`${at}: lower than before`] : [];
const isHigher: Comparison = (former, now, at) =>
  isBelow(former, now, -Infinity) ? [`${at}: higher than before`] : [];
const isOther: Comparison = (former, now, at) =>
  now !== undefined && !isSame(former, now) ? [`${at}: another rule`] : [];
const isRequired: Comparison = (former, now, at) =>
  FILLED_BY_GWK.test(at) && !at.includes('/parameters/')
    ? findAdded(now, former, at).map((line) => line.replace(/is new$/, 'may be absent'))
    : findAdded(former, now, at);
/** OpenAPI calls an answer `default` too. */
const isOtherDefault: Comparison = (former, now, at) => {
  if (at.endsWith('/responses/default')) return former === undefined ? [] : findNarrowings(former, now, at);
  return former !== undefined && !isSame(former, now) ? [`${at}: another default`] : [];
};

/** Words of schemas that exclude something. */
const WORDS = new Map<string, Comparison>([
  ...UPPER.map((word): [string, Comparison] => [word, isLower]),
  ...LOWER.map((word): [string, Comparison] => [word, isHigher]),
  ...RULES.map((word): [string, Comparison] => [word, isOther]),
  ['required', isRequired],
  ['default', isOtherDefault],
  ['enum', findLost],
  ['type', findLost],
]);

function compareWord(key: string, former: Json | undefined, now: Json | undefined, at: string): string[] {
  const compare = WORDS.get(key);
  if (compare) return compare(former, now, at);
  if (key === 'additionalProperties' && now === false && former !== false) return [`${at}: closed`];
  if (Array.isArray(former)) return compareOptions(former, now, at);
  return former === undefined ? [] : findNarrowings(former, now, at);
}

const isSame = (a: Json | undefined, b: Json | undefined): boolean => JSON.stringify(a) === JSON.stringify(b);

function isBelow(a: Json | undefined, b: Json | undefined, none: number): boolean {
  const read = (value: Json | undefined): number => (typeof value === 'number' ? value : none);
  return read(a) < read(b);
}

/** A field that becomes required. `required: true` of a parameter counts too. */
function findAdded(former: Json | undefined, now: Json | undefined, at: string): string[] {
  const before = list(former === false ? undefined : former);
  return list(now === false ? undefined : now)
    .filter((one) => !before.includes(one))
    .map((one) => `${at}: ${one} is new`);
}

function findLost(former: Json | undefined, now: Json | undefined, at: string): string[] {
  if (now === undefined) return [];
  if (former === undefined) return [`${at}: another rule`];
  const left = list(now);
  return list(former)
    .filter((one) => !left.includes(one))
    .map((one) => `${at}: ${one} is missing`);
}

/** Options by their place, or by name: parameters, columns and versions of a CRD have one. */
function compareOptions(former: Json[], now: Json | undefined, at: string): string[] {
  const options = Array.isArray(now) ? now : [];
  const nameOf = (one: Json): string | null =>
    isTree(one) && typeof one['name'] === 'string'
      ? `${one['name']} ${JSON.stringify(one['in'] ?? '')}`
      : null;
  return former.flatMap((one, index) => {
    const name = nameOf(one);
    const match = name === null ? options[index] : options.find((other) => nameOf(other) === name);
    const next = name === null ? (options.find((other) => isSame(one, other)) ?? match) : match;
    if (!isTree(one))
      return options.some((other) => isSame(one, other)) ? [] : [`${at}: ${JSON.stringify(one)} is missing`];
    return findNarrowings(one, next, `${at}/${name?.split(' ')[0] ?? index}`);
  });
}
