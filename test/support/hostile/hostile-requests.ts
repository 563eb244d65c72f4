import type { OpenApiDocument } from '@gwk/api/openapi/document';
import fc from 'fast-check';
import {
  absent,
  describedOperations,
  listParameters,
  pathWith,
  withIds,
  type DescribedOperation,
  type Ids,
} from './described-operations.js';
import { HOSTILE_TEXTS, HOSTILE_VALUES, RAW_BODIES } from './hostile-values.js';

/** Malformed requests to the operations of the OpenAPI document. */
export interface HostileRequest {
  operation: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Buffer | undefined;
}

const text = fc.oneof(fc.constantFrom(...HOSTILE_TEXTS), fc.string({ unit: 'binary', maxLength: 60 }));
const value = fc.oneof(fc.constantFrom(...HOSTILE_VALUES), fc.jsonValue({ maxDepth: 3 }), text);

/** Characters that a client can send in a header. */
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

/** @param ids existing resources; operations marked `spared` get only ids that do not exist */
export function hostileRequests(document: OpenApiDocument, ids: Ids): fc.Arbitrary<HostileRequest> {
  return fc.oneof(...describedOperations(document).map((operation) => requestTo(operation, ids)));
}

function requestTo(operation: DescribedOperation, ids: Ids): fc.Arbitrary<HostileRequest> {
  return fc
    .record({
      path: pathOf(operation, ids),
      query: queryOf(operation),
      headers,
      body: bodyOf(operation, ids),
      method: fc.oneof(
        { weight: 20, arbitrary: fc.constant(operation.method) },
        { weight: 1, arbitrary: fc.constantFrom('PUT', 'HEAD', 'OPTIONS', 'POST', 'TRACE') },
      ),
    })
    .map(({ path, query, headers: given, body, method }) => ({
      operation: operation.name,
      method,
      path: query === '' ? path : `${path}?${query}`,
      headers: body ? { ...given, 'content-type': body.type } : given,
      body: body?.content,
    }));
}

function pathOf(operation: DescribedOperation, ids: Ids): fc.Arbitrary<string> {
  const strange = text.map((given) => encodeURIComponent(given.toWellFormed()) || '%20');
  const values = listParameters(operation).map((name) => {
    const none = fc.constant(absent(name, ids));
    if (operation.spared) return fc.tuple(fc.constant(name), fc.oneof(none, strange));
    const there = { weight: 6, arbitrary: fc.constant(ids[name]!) };
    return fc.tuple(fc.constant(name), fc.oneof(there, none, strange));
  });
  return fc.tuple(...values).map((given) => pathWith(operation, Object.fromEntries(given)));
}

function queryOf({ query }: DescribedOperation): fc.Arbitrary<string> {
  const name = fc.constantFrom(...query, 'nonsense', 'limit[]', '__proto__', '');
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

function bodyOf({ bodies, takesForm }: DescribedOperation, ids: Ids): fc.Arbitrary<Body | undefined> {
  if (takesForm) return fc.oneof(form, rawBody);
  if (!bodies) return fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, rawBody);
  const changed = fc
    .tuple(fc.constantFrom(...bodies), fc.array(change, { maxLength: 3 }))
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

/** Replaces, removes or adds a value inside a body. */
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
