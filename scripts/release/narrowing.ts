/** Finds what a later description of an interface no longer offers: OpenAPI, CRD, JSON schema or a list of metrics. */

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Tree = { [key: string]: Json };

/** Texts for people. */
const TEXTS = new Set([
  'description',
  'summary',
  'example',
  'examples',
  'title',
  'default',
  'info',
  'servers',
  'tags',
]);
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
/** gwk alone fills these, so a field that is always there narrows nothing. */
const FILLED_BY_GWK = /\/(?:responses|webhooks|headers)\/|\/schemas\/\w*Out(?:\/|$)/;

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
  const keys = new Set([...Object.keys(former), ...Object.keys(now)]);
  return [...keys].flatMap((key) => {
    const at = `${place}/${key}`;
    if (inNames) return key in former ? findNarrowings(former[key]!, now[key], at) : [];
    return TEXTS.has(key) ? [] : compareWord(key, former[key], now[key], at);
  });
}

type Comparison = (former: Json | undefined, now: Json | undefined, at: string) => string[];

const isLower: Comparison = (former, now, at) =>
  isBelow(now, former, Infinity) ? [`${at}: lower than before`] : [];
const isHigher: Comparison = (former, now, at) =>
  isBelow(former, now, -Infinity) ? [`${at}: higher than before`] : [];
const isOther: Comparison = (former, now, at) =>
  now !== undefined && !isSame(former, now) ? [`${at}: another rule`] : [];
const isRequired: Comparison = (former, now, at) =>
  FILLED_BY_GWK.test(at) ? [] : findAdded(former, now, at);

/** Words of schemas that exclude something. */
const WORDS = new Map<string, Comparison>([
  ...UPPER.map((word): [string, Comparison] => [word, isLower]),
  ...LOWER.map((word): [string, Comparison] => [word, isHigher]),
  ...RULES.map((word): [string, Comparison] => [word, isOther]),
  ['required', isRequired],
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
