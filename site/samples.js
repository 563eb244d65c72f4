// Requests of one operation in curl, JavaScript and Python. They read the address, the key and the ids from the
// environment, so that they run as they are.
import { nameMethod } from '../sdk/typescript/table.js';

/** Variables for ids in examples, by the prefix of the id. */
const IDS = {
  ins: 'INSTANCE_ID',
  msg: 'MESSAGE_ID',
  med: 'MEDIA_ID',
  evt: 'EVENT_ID',
  whe: 'ENDPOINT_ID',
  whd: 'DELIVERY_ID',
};

/** Methods of the clients that read a stream and continue it. */
const STREAMS = { streamEvents: ['events', 'follow'], streamPairing: ['instances', 'pair'] };

const camel = (tag) => tag.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
/** Names of the client for Python (sdk/python/generate.py). */
const snake = (name) =>
  name
    .replaceAll('-', '_')
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase();

/** `{instance_id}`: `INSTANCE_ID`. */
const variablesOf = (path) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name.toUpperCase());

/** Writes a value of JSON as a literal of a language. */
function printValue(value, language, indent = '') {
  const id = typeof value === 'string' && /^([a-z]{3})_[0-9a-f]{32}$/.exec(value)?.[1];
  if (id && IDS[id]) return language.variable(IDS[id]);
  if (value === null || typeof value === 'boolean') return language.words[String(value)];
  if (typeof value === 'string') return language.text(value);
  if (typeof value !== 'object') return String(value);
  const isList = Array.isArray(value);
  const [open, close] = isList ? '[]' : '{}';
  const items = Object.entries(value).map(([key, item]) => {
    const printed = printValue(item, language, `${indent}  `);
    return isList ? printed : `${language.key(key)}: ${printed}`;
  });
  if (items.length === 0) return open + close;
  return `${open}\n${items.map((item) => `${indent}  ${item},\n`).join('')}${indent}${close}`;
}

const WORDS = { null: 'null', true: 'true', false: 'false' };
const JAVASCRIPT = {
  words: WORDS,
  text: (value) => `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`,
  key: (name) => name,
  variable: (name) => `env.${name}`,
};
const PYTHON = {
  words: { null: 'None', true: 'True', false: 'False' },
  text: (value) => JSON.stringify(value),
  key: (name) => JSON.stringify(name),
  variable: (name) => `env["${name}"]`,
};

/** Escapes what a here-document expands, then names the variables of ids. */
function printHereDocument(value) {
  const text = JSON.stringify(value, null, 2).replaceAll(/[\\$`]/g, '\\$&');
  return text.replaceAll(/"([a-z]{3})_[0-9a-f]{32}"/g, (id, kind) => (IDS[kind] ? `"$${IDS[kind]}"` : id));
}

function writeCurl({ method, path, body, isUpload, isStream }) {
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name) => `$${name.toUpperCase()}`);
  const isImplied = method === (body || isUpload ? 'POST' : 'GET');
  const flags = `-s${isStream ? 'N' : ''}${isImplied ? '' : ` -X ${method}`}`;
  const lines = [
    `curl ${flags} "$GWK_ADDRESS${address}"`,
    '-H "Authorization: Bearer $GWK_API_KEY"',
    ...(isUpload ? ['-F file=@invoice.pdf'] : []),
    ...(body ? ["-H 'Content-Type: application/json'", '-d @- <<EOF'] : []),
  ];
  return lines.join(' \\\n  ') + (body ? `\n${printHereDocument(body)}\nEOF` : '');
}

function writeJavaScript({ operationId, path, tag, body, isPage, isStream, isUpload }) {
  const [group, method] = STREAMS[operationId] ?? [camel(tag), nameMethod(operationId, tag)];
  const given = [
    ...variablesOf(path).map(JAVASCRIPT.variable),
    ...(body ? [printValue(body, JAVASCRIPT)] : []),
    ...(isUpload ? ["{ file: { path: 'invoice.pdf' } }"] : []),
  ];
  const call = `client.${group}.${method}(${given.join(', ')})`;
  return [
    "import { Gwk } from '@gwk/client';",
    '',
    'const { env } = process;',
    'const client = new Gwk({ baseUrl: env.GWK_ADDRESS, apiKey: env.GWK_API_KEY });',
    isPage || isStream
      ? `for await (const item of ${call}) console.log(item);`
      : `console.log(await ${call});`,
  ].join('\n');
}

function writePython({ operationId, path, tag, body, isPage, isStream, isUpload }) {
  const [group, method] = STREAMS[operationId] ?? [tag, nameMethod(operationId, tag)];
  const given = [
    ...variablesOf(path).map(PYTHON.variable),
    ...(body ? [printValue(body, PYTHON, '    ')] : []),
    ...(isUpload ? ['"invoice.pdf"'] : []),
  ];
  const call = `gwk.${snake(group)}.${snake(method)}(${given.join(', ')})`;
  return [
    'from os import environ as env',
    '',
    'from gwk_client import Gwk',
    '',
    'with Gwk(env["GWK_ADDRESS"], env["GWK_API_KEY"]) as gwk:',
    ...(isPage || isStream ? [`    for item in ${call}:`, '        print(item)'] : [`    print(${call})`]),
  ].join('\n');
}

/**
 * @typedef {{ operationId: string, method: string, path: string, tag: string, body?: unknown, isPage: boolean,
 *   isStream: boolean, isUpload: boolean }} Request
 * @param {Request} request
 */
export const writeSamples = (request) => ({
  curl: writeCurl(request),
  javascript: writeJavaScript(request),
  python: writePython(request),
});
