const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const lower = (text) => text.charAt(0).toLowerCase() + text.slice(1);

/** `webhook-endpoints`: `webhookEndpoints`. */
const nameGroup = (tag) => tag.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());

/** `sendMessage` of the tag `messages`: `send`. */
export function nameMethod(operationId, tag) {
  const nouns = [
    upper(nameGroup(tag)),
    upper(nameGroup(tag)).replace(/(?:(ie)|)s$/, (_, ie) => (ie ? 'y' : '')),
  ];
  let name = upper(operationId);
  for (const noun of nouns) name = name.replace(noun, '');
  return lower(name.replace(tag.startsWith('webhook-') ? 'Webhook' : '', '').replace(/To$/, ''));
}

/**
 * Lists the operations of an OpenAPI document by tag and name. The row has the method, the path, where the input goes,
 * and whether the answer is a page or a stream. The text is for editors.
 */
export function makeTable(document) {
  const table = {};
  const resolve = (object) =>
    object.$ref
      ?.split('/')
      .slice(1)
      .reduce((value, key) => value[key], document) ?? object;
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const [tag] = operation.tags;
      const name = nameMethod(operation.operationId, tag);
      const group = (table[nameGroup(tag)] ??= {});
      if (name in group) throw new Error(`Two operations are named ${tag}.${name}`);
      const parameters = operation.parameters.map(resolve);
      const input = findInput(operation, parameters);
      const row = [method.toUpperCase(), path, input, findAnswer(operation, parameters)];
      group[name] = { row, text: describe(operation) };
    }
  }
  return table;
}

function describe({ summary, description }) {
  return [summary, description].filter(Boolean).join('\n\n').replaceAll('*/', '*\\/');
}

/** Writes the table as a module. Editors show the comment of a property also for a mapped type. */
export function printTable(table) {
  const groups = Object.entries(table).map(([group, operations]) => {
    const properties = Object.entries(operations).map(
      ([name, { row, text }]) =>
        `    /**\n${text.replace(/^/gm, '     * ')}\n     */\n    ${name}: ${JSON.stringify(row)},\n`,
    );
    return `  ${group}: {\n${properties.join('')}  },\n`;
  });
  return `export const OPERATIONS = {\n${groups.join('')}} as const;\n`;
}

function findInput({ requestBody }, parameters) {
  if (requestBody) return 'multipart/form-data' in requestBody.content ? 'form' : 'body';
  return parameters.some((parameter) => parameter.in === 'query') ? 'query' : 'none';
}

function findAnswer({ responses }, parameters) {
  if ('text/event-stream' in (responses[200]?.content ?? {})) return 'stream';
  return parameters.some(({ name }) => name === 'cursor') ? 'page' : 'one';
}
