import type { OpenApiDocument } from '@gwk/api/openapi/document';
import type { JsonSchema } from '@gwk/api/openapi/schema-book';
import fc from 'fast-check';

/** Requests as nobody should make them, to operations as the description of the interface has them. */
export interface HostileRequest {
  operation: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Buffer | undefined;
}

export type Ids = Readonly<Record<string, string>>;

interface Described {
  operationId: string;
  parameters: { name?: string; in?: string; schema: JsonSchema; $ref?: string }[];
  requestBody?: {
    content: Record<string, { example?: unknown; examples?: Record<string, { value: unknown }> }>;
  };
  responses: Record<string, { content?: Record<string, unknown> }>;
}

interface Row {
  method: string;
  path: string;
  operation: Described;
}

const HOSTILE_TEXTS = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  '😀'.repeat(50),
  'ﷺ\u202e\u200f',
  'x'.repeat(5_000),
  "'; DROP TABLE messages; --",
  '{{7*7}}${7*7}',
  '../../../../etc/passwd',
  '%00%ff%c0%ae',
  '<script>alert(1)</script>',
  '\r\nX-Injected: 1',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'NaN',
  '-1',
  '1e999',
  '99999999999999999999',
  '2026-13-45T99:99:99Z',
  '-271821-04-20T00:00:00.000Z',
  '9999-12-31T23:59:59.999Z',
  '0000-01-01T00:00:00Z',
  'ins_' + 'f'.repeat(32),
  'msg_' + 'f'.repeat(32),
  'med_' + '0'.repeat(32),
  '5511987654321',
  '+0000000000000000',
  '5511987654321@s.whatsapp.net',
  '120363000000000000@g.us',
  '1@lid',
  'http://169.254.169.254/',
  'file:///etc/passwd',
  'America/Sao_Paulo',
  'Etc/GMT+99',
];

const HOSTILE_VALUES: readonly unknown[] = [
  ...HOSTILE_TEXTS,
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  -1e308,
  Number.MAX_SAFE_INTEGER + 2,
  [],
  {},
  [[]],
  [null],
  { length: -1 },
  { __proto__: null, constructor: { prototype: { polluted: true } } },
  Array.from({ length: 300 }, (_, index) => index),
];

const RAW_BODIES: readonly (string | Buffer)[] = [
  '',
  'null',
  '[]',
  '0',
  '"x"',
  '{',
  '{"a":1,}',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"x":1}}}',
  '['.repeat(5_000),
  `${'{"a":'.repeat(300)}1${'}'.repeat(300)}`,
  '{"to":"1","to":"2"}',
  '{"a":1e9999}',
  '{"a":"\\ud800"}',
  '{"a":"\\u0000"}',
  '\ufeff{}',
  Buffer.from([0xff, 0xfe, 0x00, 0x01]),
  Buffer.from('{"a":"\xc3\x28"}', 'latin1'),
  Buffer.alloc(2_000, 0),
];

const text = fc.oneof(fc.constantFrom(...HOSTILE_TEXTS), fc.string({ unit: 'binary', maxLength: 60 }));
const value = fc.oneof(fc.constantFrom(...HOSTILE_VALUES), fc.jsonValue({ maxDepth: 3 }), text);

/** Characters that a client can put into a header at all. */
const headerText = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '"',
    '"1"',
    'W/"1"',
    '*',
    ',,,',
    'x'.repeat(300),
    'é',
    '\t',
    '0',
    'null',
    '"1", "2"',
  ),
  fc.string({ maxLength: 40 }).map((given) => given.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '_')),
);

const headers = fc
  .dictionary(
    fc.constantFrom(
      'idempotency-key',
      'if-match',
      'x-request-id',
      'accept',
      'accept-encoding',
      'content-encoding',
      'x-forwarded-for',
      'x-http-method-override',
      'range',
      'origin',
      'cookie',
    ),
    headerText,
    { maxKeys: 3 },
  )
  .map((given) => given);

const contentType = fc.constantFrom(
  'application/json',
  'application/json',
  'application/json',
  'application/json; charset=utf-16',
  'text/plain',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  '',
);

/** @param ids what is there; operations that remove, or stream without end, are given only what is not */
export function hostileRequests(document: OpenApiDocument, ids: Ids): fc.Arbitrary<HostileRequest> {
  const rows = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation: operation as unknown as Described,
    })),
  );
  return fc.oneof(...rows.map((row) => requestTo(row, ids)));
}

function requestTo(row: Row, ids: Ids): fc.Arbitrary<HostileRequest> {
  const { operation } = row;
  return fc
    .record({
      path: pathOf(row, ids),
      query: queryOf(operation),
      headers,
      body: bodyOf(operation, ids),
      method: fc.oneof(
        { weight: 20, arbitrary: fc.constant(row.method) },
        { weight: 1, arbitrary: fc.constantFrom('PUT', 'HEAD', 'OPTIONS', 'POST', 'TRACE') },
      ),
    })
    .map(({ path, query, headers: given, body, method }) => ({
      operation: operation.operationId,
      method,
      path: query === '' ? path : `${path}?${query}`,
      headers: body ? { ...given, 'content-type': body.type } : given,
      body: body?.content,
    }));
}

function pathOf({ method, path, operation }: Row, ids: Ids): fc.Arbitrary<string> {
  const spared = method === 'DELETE' || path.endsWith('/logout') || isEndless(operation);
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  const values = names.map((name) => {
    const absent = `${ids[name]!.slice(0, 4)}${'0'.repeat(32)}`;
    const strange = text.map((given) => encodeURIComponent(given.toWellFormed()) || '%20');
    if (spared) return fc.oneof(fc.constant(absent), strange);
    return fc.oneof({ weight: 6, arbitrary: fc.constant(ids[name]!) }, fc.constant(absent), strange);
  });
  return fc
    .tuple(...values)
    .map((given) => names.reduce((at, name, index) => at.replace(`{${name}}`, () => given[index]!), path));
}

function isEndless({ responses }: Described): boolean {
  return Object.values(responses).some(
    ({ content }) => content !== undefined && 'text/event-stream' in content,
  );
}

function queryOf({ parameters }: Described): fc.Arbitrary<string> {
  const names = parameters.flatMap((parameter) => (parameter.in === 'query' ? [parameter.name!] : []));
  const name = fc.constantFrom(...names, 'nonsense', 'limit[]', '__proto__', '');
  const pair = fc
    .tuple(name, text)
    .map(([key, given]) => `${encodeURIComponent(key)}=${encodeURIComponent(given.toWellFormed())}`);
  const raw = fc.constantFrom('%', '%ff', '&&&', '=', 'limit', 'limit=1&limit=2', 'cursor=%00');
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant('') },
    { weight: 4, arbitrary: fc.array(pair, { maxLength: 3 }).map((pairs) => pairs.join('&')) },
    { weight: 1, arbitrary: raw },
  );
}

interface Body {
  content: string | Buffer;
  type: string;
}

function bodyOf({ requestBody }: Described, ids: Ids): fc.Arbitrary<Body | undefined> {
  const json = requestBody?.content['application/json'];
  if (!requestBody) return fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, rawBody);
  if (!json) return fc.oneof(form, rawBody);
  const shown = json.examples ? Object.values(json.examples).map((example) => example.value) : [json.example];
  const changed = fc
    .tuple(fc.constantFrom(...shown), fc.array(change, { maxLength: 3 }))
    .map(([example, changes]) => changes.reduce((at, apply) => apply(at), withIds(example, ids)))
    .map((given) => ({ content: JSON.stringify(given) ?? '', type: 'application/json' }));
  return fc.oneof({ weight: 6, arbitrary: changed }, rawBody);
}

const rawBody = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(...RAW_BODIES),
      value.map((given) => JSON.stringify(given) ?? ''),
    ),
    contentType,
  )
  .map(([content, type]) => ({ content, type }));

const form = fc
  .tuple(text, text, fc.constantFrom('file', 'filename', '', 'other'), fc.boolean())
  .map(([content, filename, name, ended]) => ({
    type: 'multipart/form-data; boundary=x',
    content: Buffer.from(
      `--x\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\n\r\n${content}\r\n` +
        (ended ? '--x--\r\n' : ''),
    ),
  }));

type Change = (value: unknown) => unknown;

/** Something within a body is put in the place of another, taken away, or added. */
const change: fc.Arbitrary<Change> = fc
  .tuple(fc.array(fc.nat(20), { minLength: 1, maxLength: 5 }), value, fc.constantFrom('set', 'drop', 'add'))
  .map(
    ([way, given, what]) =>
      (body: unknown) =>
        changed(body, way, given, what),
  );

function changed(at: unknown, way: readonly number[], given: unknown, what: 'set' | 'drop' | 'add'): unknown {
  const isPart = at !== null && typeof at === 'object';
  const entries = isPart ? Object.entries(at) : [];
  if (entries.length === 0 || way.length === 0) return given;
  const [first, ...rest] = way;
  if (what === 'add' && rest.length === 0) return Object.fromEntries([...entries, ['nonsense', given]]);
  const chosen = first! % entries.length;
  const next = entries.flatMap(([name, part], index): [string, unknown][] => {
    if (index !== chosen) return [[name, part]];
    if (what === 'drop' && rest.length === 0) return [];
    return [[name, rest.length === 0 ? given : changed(part, rest, given, what)]];
  });
  return Array.isArray(at) ? next.map(([, part]) => part) : Object.fromEntries(next);
}

function withIds(example: unknown, ids: Ids): unknown {
  const json = JSON.stringify(example, (name, part: unknown) => {
    const id = name === 'reply_to' ? ids['message_id'] : ids[name];
    return id === undefined || typeof part !== 'string' ? part : id;
  });
  return JSON.parse(json) as unknown;
}
