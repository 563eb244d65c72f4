// Tables of the fields of a schema in an OpenAPI document.

/** Deeper fields are left out: events quote messages, which have the same fields again. */
const DEPTH = 4;

/** Cells of a table must not end it or begin an element. */
export const cell = (text) =>
  text
    .split(/(`[^`]*`)/)
    .map((part, index) => (index % 2 ? part : part.replaceAll('<', '&lt;').replaceAll('{{', '&#123;&#123;')))
    .join('')
    .replaceAll('|', '\\|')
    .replaceAll(/\s*\n\s*/g, ' ');

export const follow = (document, value) =>
  value?.$ref
    ? follow(
        document,
        value.$ref
          .split('/')
          .slice(1)
          .reduce((found, key) => found[key], document),
      )
    : value;

/** The schemas that a value may have, without null. */
function optionsOf(document, schema) {
  const found = follow(document, schema) ?? {};
  const options = found.anyOf ?? found.oneOf;
  if (!options) return [found];
  return options.flatMap((option) => optionsOf(document, option)).filter(({ type }) => type !== 'null');
}

const isNullable = (document, schema) => {
  const found = follow(document, schema) ?? {};
  const options = found.anyOf ?? found.oneOf ?? [];
  return [found.type].flat().includes('null') || options.some((option) => isNullable(document, option));
};

function nameType(document, schema) {
  const names = optionsOf(document, schema).map((option) => {
    const [type] = [option.type].flat().filter((name) => name !== 'null');
    if (type === 'array') return `list of ${nameType(document, option.items)}`;
    return option.format === 'date-time' ? 'time' : (type ?? 'value');
  });
  return [...new Set(names)].join(' or ');
}

/** Lowest and highest value, and their unit. */
const LIMITS = [
  ['minimum', 'maximum', ''],
  ['minLength', 'maxLength', ' characters'],
  ['minItems', 'maxItems', ' items'],
];

function describeLimits(schema) {
  const limits = LIMITS.map(([low, high, unit]) => [schema[low], schema[high], unit])
    .filter(([low, high]) => low !== undefined || high !== undefined)
    .map(([low, high, unit]) => {
      if (high === undefined) return `at least ${low}${unit}`;
      return low === undefined ? `at most ${high}${unit}` : `${low} to ${high}${unit}`;
    });
  const isDefault = schema.default !== undefined && schema.default !== null;
  return isDefault ? [`default ${JSON.stringify(schema.default)}`, ...limits] : limits;
}

function describe(document, schema) {
  const texts = [schema.description, follow(document, schema)?.description];
  const options = optionsOf(document, schema);
  const values = options.flatMap((option) => option.enum ?? ('const' in option ? [option.const] : []));
  const limits = [schema, ...options].flatMap(describeLimits);
  const listed = values.map((value) => `\`${value}\``).join(', ');
  const text = texts.find(Boolean);
  return [text, listed, [...new Set(limits)].join(', ')].filter(Boolean).join('; ');
}

function describeField(document, name, schema, isRequired) {
  const nullable = isNullable(document, schema) ? ' or null' : '';
  return { name, type: nameType(document, schema) + nullable, isRequired, text: describe(document, schema) };
}

/** The fields of one object, each followed by those inside it. */
const listProperties = (document, { properties = {}, required = [] }, prefix, depth) =>
  Object.entries(properties).flatMap(([key, schema]) => {
    const name = prefix === '' ? key : `${prefix}.${key}`;
    const row = describeField(document, name, schema, required.includes(key));
    return depth + 1 < DEPTH ? [row, ...listFields(document, schema, name, depth + 1)] : [row];
  });

/** Rows of all fields: name with its path, type and description. A list adds `[]` to the path. */
export function listFields(document, schema, prefix = '', depth = 0) {
  const rows = optionsOf(document, schema).flatMap((option) => [
    ...(option.items ? listFields(document, option.items, `${prefix}[]`, depth) : []),
    ...listProperties(document, option, prefix, depth),
  ]);
  // Several options may have the same field.
  return [...new Map(rows.map((row) => [row.name, row])).values()];
}
