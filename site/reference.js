// The pages of the API reference, as Markdown: one for each tag of the OpenAPI document. So the search, llms.txt and the
// check of links include them like every other page.
import { writeSamples } from './samples.js';
import { cell, follow, listFields } from './schema.js';

/** Headers of many operations. The start page of the reference describes them once. */
const GENERAL = new Set(['X-Request-ID', 'Accept-Language', 'Idempotency-Key', 'If-Match']);

const table = (head, rows) =>
  rows.length === 0
    ? ''
    : [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');

const fieldRows = (fields) =>
  fields.map(({ name, type, isRequired, text }) => [
    `\`${name}\``,
    isRequired ? `${type}, required` : type,
    text,
  ]);

/** Field tables are long, so a reader opens them. */
const fold = (title, content) =>
  content === '' ? '' : `<details>\n<summary>${title}</summary>\n\n${content}\n\n</details>`;

const jsonOf = (content) => content?.['application/json'];

function findExample(document, { example, examples, schema } = {}) {
  const [first] = Object.values(examples ?? {});
  return example ?? first?.value ?? follow(document, schema)?.examples?.[0];
}

function describeRequest(document, path, method, operation) {
  const answers = follow(document, operation.responses['200'])?.content ?? {};
  return {
    operationId: operation.operationId,
    method: method.toUpperCase(),
    path,
    tag: operation.tags[0],
    body: findExample(document, jsonOf(operation.requestBody?.content)),
    isUpload: 'multipart/form-data' in (operation.requestBody?.content ?? {}),
    isStream: 'text/event-stream' in answers,
    isPage: operation.parameters.some(({ name }) => name === 'cursor'),
  };
}

/** All operations in the order of the document, each with what its samples need. */
export const listRequests = (document) =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => describeRequest(document, path, method, operation)),
  );

function renderSamples(request) {
  const { curl, javascript, python } = writeSamples(request);
  const block = (language, name, text) => `\`\`\`${language} [${name}]\n${text}\n\`\`\``;
  return [
    '::: code-group',
    block('sh', 'curl', curl),
    block('js', 'JavaScript', javascript),
    block('python', 'Python', python),
    ':::',
  ].join('\n\n');
}

/** `one`: Words; `two`: Other words. */
const problemsOf = (description) =>
  [...description.matchAll(/`([a-z-]+)`/g)].map(([, code]) => `[\`${code}\`](../errors.md)`).join(', ');

function renderAnswers(document, responses) {
  const rows = Object.entries(responses).map(([status, response]) => {
    const { description } = follow(document, response);
    return [status, status < '400' ? description : problemsOf(description)];
  });
  const fields = Object.entries(responses)
    .filter(([status]) => status < '300')
    .flatMap(([, response]) => listFields(document, jsonOf(follow(document, response).content)?.schema));
  return [
    table(['Status', 'Answer'], rows),
    fold('Fields of the answer', table(['Field', 'Type', 'Meaning'], fieldRows(fields))),
  ];
}

function renderOperation(document, path, method, operation) {
  const parameters = operation.parameters
    .map((parameter) => follow(document, parameter))
    .filter(({ name }) => !GENERAL.has(name));
  const scopes = operation.security.flatMap(({ apiKey = [] }) => apiKey).map((scope) => `\`${scope}\``);
  const scope = scopes.length === 0 ? '' : ` Scope: ${scopes.join(', ')}.`;
  const inputs = parameters.map(({ name, in: where, required, schema, description }) => {
    const [{ type, text }] = listFields(document, { properties: { [name]: { ...schema, description } } });
    return [`\`${name}\``, `${where}${required ? ', required' : ''}`, type, text];
  });
  const fields = listFields(document, jsonOf(operation.requestBody?.content)?.schema);
  return [
    `## ${operation.summary}`,
    `\`${method.toUpperCase()} ${path}\`.${scope}`,
    cell(operation.description ?? ''),
    renderSamples(describeRequest(document, path, method, operation)),
    table(['Parameter', 'Place', 'Type', 'Meaning'], inputs),
    fold('Fields of the body', table(['Field', 'Type', 'Meaning'], fieldRows(fields))),
    ...renderAnswers(document, operation.responses),
  ];
}

function renderEvent(document, operation) {
  const { schema } = jsonOf(operation.requestBody.content);
  return [
    `## ${operation.summary}`,
    cell(operation.description ?? ''),
    fold('Fields', table(['Field', 'Type', 'Meaning'], fieldRows(listFields(document, schema)))),
  ];
}

const TITLES = { status: 'Interactive formats', webhooks: 'Webhook requests', 'opt-outs': 'Opt-outs' };
export const titleOf = (tag) =>
  TITLES[tag] ?? (tag.charAt(0).toUpperCase() + tag.slice(1)).replaceAll('-', ' ');

/** The page that explains a group. */
const GUIDES = {
  contacts: 'receiving',
  conversations: 'receiving',
  events: 'webhooks',
  instances: 'pairing',
  media: 'media',
  messages: 'sending',
  'opt-outs': 'opt-out',
  status: 'replies-and-menus',
  'webhook-deliveries': 'webhooks',
  'webhook-endpoints': 'webhooks',
  webhooks: 'receiving',
};

const WEBHOOKS =
  'gwk posts each event to your endpoints with the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. [Receive webhooks safely](../tutorials/webhooks.md) shows how to verify them.';

function renderTag(document, { name, description }) {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([, operation]) => operation.tags[0] === name)
      .map(([method, operation]) => renderOperation(document, path, method, operation)),
  );
  const events = Object.values(document.webhooks)
    .filter(({ post }) => post.tags[0] === name)
    .map(({ post }) => renderEvent(document, post));
  const guide = `${description} [The guide](../${GUIDES[name]}.md) explains them.`;
  const parts = [`# ${titleOf(name)}`, guide, ...(events.length > 0 ? [WEBHOOKS] : [])];
  return `${[...parts, ...operations.flat(), ...events.flat()].filter(Boolean).join('\n\n')}\n`;
}

function renderIndex(document, tags) {
  const headers = [...GENERAL].map((name) => {
    const found = Object.values(document.components.parameters).find((one) => one.name === name);
    return [`\`${name}\``, found.description ?? ''];
  });
  return `# API reference

This reference is made from the OpenAPI 3.1 description of version ${document.info.version}. Every gateway serves the description of its own version at \`/openapi.json\`, and an interactive form of it at \`/docs\`.

The samples run as they are. They read the address, the API key and ids from the environment:

\`\`\`sh
export GWK_ADDRESS=http://127.0.0.1:8080
export GWK_API_KEY=gwk_live_...
export INSTANCE_ID=ins_...
\`\`\`

The samples in JavaScript use [the TypeScript client](../sdk-typescript.md), those in Python [the Python client](../sdk-python.md). [Getting started](../getting-started.md) shows where address and key come from.

${table(
  ['Group', 'Content'],
  tags.map(({ name, description }) => [`[${titleOf(name)}](${name}.md)`, description]),
)}

These headers belong to many operations:

${table(['Header', 'Meaning'], headers)}
`;
}

/** @returns {Map<string, string>} the pages by their path below the folder of the reference */
export function renderReference(document) {
  const pages = document.tags.map((tag) => [`${tag.name}.md`, renderTag(document, tag)]);
  return new Map([['index.md', renderIndex(document, document.tags)], ...pages]);
}
