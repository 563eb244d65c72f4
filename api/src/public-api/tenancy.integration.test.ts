import { fromPublicId } from '@gwk/core/ids/ids';
import { sharedApi } from '@gwk/test/support/api/open-api';
import { openApiDocument } from '../openapi/document.js';
import type { JsonSchema } from '../openapi/schema-book.js';
import type { TestApi } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';
import {
  ABSENT_IDS,
  listBodies,
  buildSample,
  type SampleRequest,
} from '@gwk/test/support/api/contract/requests';
import { makeWorld, type World } from '@gwk/test/support/api/world';
import type { Operation } from '../http/operation.js';
import { OPERATIONS } from './operations.js';

/**
 * An invisible object is answered exactly like one that never existed. This checks every operation and every
 * id in its path, query or body, by walking the table and the schemas.
 */
let api: TestApi;
/** Two worlds of one account: its restricted key may use the first and not the second. */
let own: World;
let other: World;
/** A world of another account. */
let foreign: World;
let restricted: ApiClient;

const document = openApiDocument({
  operations: OPERATIONS,
  baseUrl: 'https://example.org',
  docsUrl: 'https://docs.example.org',
});

beforeAll(async () => {
  api = await sharedApi();
  const account = await api.account();
  own = await makeWorld(api, account, 'own');
  other = await makeWorld(api, account, 'other');
  foreign = await makeWorld(api, await api.account(), 'foreign');
  const instances = [fromPublicId('instance', own.ids['instance_id']!)!];
  restricted = await api.clientOf(account, { instances });
});

/**
 * Returns the parts of an answer that could reveal whether an id exists: all except those that repeat the
 * request.
 */
async function fetchComparable(client: ApiClient, request: SampleRequest): Promise<unknown> {
  const { method, path, body } = request;
  const answer = await client.call<Record<string, unknown> | undefined>(method, path, {
    body,
    ...(request.headers && { headers: request.headers }),
  });
  const headers = without(
    answer.headers,
    ...['date', 'x-request-id', 'content-length', 'ratelimit-remaining', 'ratelimit-reset'],
  );
  return { status: answer.status, problem: without(answer.body ?? {}, 'request_id', 'instance'), headers };
}

/** Reads everything about a world that its owner can read. */
async function readState({ client, ids }: World): Promise<unknown> {
  const reads = OPERATIONS.filter(
    ({ method, path, resultType }) =>
      method === 'GET' && /\{\w+_id\}$/.test(path) && resultType === undefined,
  );
  return Promise.all(
    reads.map(async (operation) => {
      const { method, path } = buildSample(operation, document, ids);
      const { status, body } = await client.call<Record<string, unknown>>(method, path);
      return [operation.name, status, without(body, 'url', 'live')];
    }),
  );
}

const CALLERS = [
  ['a stranger', () => foreign.client, () => own],
  ['a key of another instance', () => restricted, () => other],
] as const;

interface Shaped {
  shape: object;
}

type Ids = Readonly<Record<string, string>>;

/** Body fields that take one of our ids: which id, and the error for one that never existed. */
const FIELDS: Readonly<Record<string, { id: string; many?: true; code: string }>> = {
  instance_id: { id: 'instance_id', code: 'not-found' },
  instance_ids: { id: 'instance_id', many: true, code: 'validation-error' },
  media_id: { id: 'media_id', code: 'media-not-found' },
  reply_to: { id: 'message_id', code: 'invalid-reply-to' },
};
/** Ids from the network or the consumer. They are looked up within the instance of the path. */
const NETWORK_IDS = new Set([
  'option_id',
  'in_reply_to_wa_message_id',
  'quoted_wa_message_id',
  'wa_message_ids',
]);

/** Stands for the item of an array that has the next field. */
const ITEM = '*';

interface IdField {
  title: string;
  operation: Operation;
  path: string[];
  code: string;
}

const idFields: IdField[] = OPERATIONS.flatMap((operation) =>
  listBodyPaths(operation)
    .filter((path) => path.at(-1)! in FIELDS)
    .map((path) => ({
      title: `${operation.method} ${operation.path}: ${path.join('.')}`,
      operation,
      path,
      code: FIELDS[path.at(-1)!]!.code,
    })),
);

/** Lists the paths of all fields in the body of an operation. */
function listBodyPaths({ method, path, body, receive }: Operation): string[][] {
  if (!body || receive) return [];
  const described = document.paths[path]![method.toLowerCase()] as unknown as {
    requestBody: { content: { 'application/json': { schema: JsonSchema } } };
  };
  return listFields(described.requestBody.content['application/json'].schema);
}

function listFields(schema: JsonSchema): string[][] {
  const {
    $ref,
    anyOf = [],
    items,
    properties = {},
  } = schema as {
    $ref?: string;
    anyOf?: JsonSchema[];
    items?: JsonSchema;
    properties?: Record<string, JsonSchema>;
  };
  if ($ref !== undefined) return listFields(document.components['schemas']![$ref.split('/').at(-1)!]!);
  const ofItems = items ? listFields(items).map((path) => [ITEM, ...path]) : [];
  const parts = [...anyOf.flatMap(listFields), ...ofItems];
  const own = Object.entries(properties).flatMap(([name, part]) => [
    [name],
    ...listFields(part).map((path) => [name, ...path]),
  ]);
  return [...parts, ...own];
}

type Fields = Record<string, unknown>;

/** A request whose ids are visible to the caller, except in one field. */
function buildRequest({ operation, path }: IdField, visible: Ids, ids: Ids): SampleRequest {
  const bodies = listBodies(operation, document) as Record<string, unknown>[];
  const chosen = bodies.find((body) => path.length > 1 && path[0]! in body) ?? bodies[0]!;
  const body = withIds(chosen, visible) as Record<string, unknown>;
  const parent = path.slice(0, -1).reduce<Fields>((at, name, place) => {
    if (name !== ITEM) return (at[name] ??= {}) as Fields;
    return (at as unknown as Fields[]).find((item) => path[place + 1]! in item)!;
  }, body);
  const name = path.at(-1)!;
  const { id, many } = FIELDS[name]!;
  parent[name] = many ? [ids[id]!] : ids[id]!;
  if (name === 'media_id') delete parent['url'];
  return { ...buildSample(operation, document, visible), body };
}

function withIds(value: unknown, ids: Ids): unknown {
  if (Array.isArray(value)) return value.map((item) => withIds(item, ids));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => {
      const field = FIELDS[name];
      if (!field) return [name, withIds(part, ids)];
      return [name, field.many ? [] : ids[field.id]];
    }),
  );
}

const without = (value: object, ...names: string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));

describe.each(CALLERS)('to %s', (_, getCaller, getHidden) => {
  const named = OPERATIONS.filter(({ path }) => /\{\w+_id\}/.test(path));

  test.each(named)('$method $path answers like an id that never existed', async (operation) => {
    const before = await readState(getHidden());
    const absent = await fetchComparable(getCaller(), buildSample(operation, document, ABSENT_IDS));
    const hidden = await fetchComparable(getCaller(), buildSample(operation, document, getHidden().ids));
    expect(hidden).toEqual(absent);
    expect(absent).toMatchObject({
      status: operation.unrestricted && getCaller() === restricted ? 403 : 404,
    });
    // The request changed nothing either.
    expect(await readState(getHidden())).toEqual(before);
  });

  const filtered = OPERATIONS.filter(
    ({ query }) => query && 'instance_id' in (query as unknown as Shaped).shape,
  );

  test.each(filtered)(
    '$method $path?instance_id= answers like an id that never existed',
    async (operation) => {
      const { path } = buildSample(operation, document, ABSENT_IDS);
      const ask = (id: string) =>
        fetchComparable(getCaller(), { method: 'GET', path: `${path}?instance_id=${id}` });
      const hidden = await ask(getHidden().ids['instance_id']!);
      expect(hidden).toEqual(await ask(ABSENT_IDS['instance_id']!));
      expect(hidden).toMatchObject({ status: 404 });
    },
  );

  test.each(idFields)('$title in the body answers like an id that never existed', async (field) => {
    const visible = (getCaller() === restricted ? own : foreign).ids;
    const send = (ids: Ids) => fetchComparable(getCaller(), buildRequest(field, visible, ids));
    const [hidden, absent] = [await send(getHidden().ids), await send(ABSENT_IDS)];
    expect(hidden).toEqual(absent);
    expect(absent).toMatchObject({ problem: { type: expect.stringMatching(`/${field.code}$`) as string } });
  });
});

test('every body field that takes an id is listed here', () => {
  const unknown = OPERATIONS.flatMap((operation) =>
    listBodyPaths(operation).filter((path) => {
      const name = path.at(-1)!;
      return /(_id|_ids|^reply_to)$/.test(name) && !(name in FIELDS) && !NETWORK_IDS.has(name);
    }),
  );
  expect(unknown).toEqual([]);
  expect(idFields.map(({ title }) => title)).toContain('POST /v1/messages: image.media.media_id');
});
