import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { fromPublicId, toPublicId } from '@gwk/core/ids/ids';
import type { PairingOut } from '@gwk/core/resources/pairing';
import { SCOPES, type Scope } from '@gwk/core/scopes';
import { makeConsoleWorld, sampleOf } from '@gwk/test/support/api/console-world';
import { buildSample } from '@gwk/test/support/api/contract/requests';
import { openBrowser } from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import { makeWorld } from '@gwk/test/support/api/world';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { CommandRefusal } from '@gwk/test/support/api/fake-engine';
import { withIds } from '@gwk/test/support/hostile/described-operations';
import { openStream } from '@gwk/test/support/sse';
import { until } from '@gwk/test/support/wait';
import { AccessLog } from '../../public-api/access-log.js';
import type { Operation } from '../../http/operation.js';
import { openApiDocument } from '../../openapi/document.js';
import { CONSOLE_OPERATIONS, OPERATIONS } from '../../public-api/operations.js';

/** A pairing code links any phone. This walks everything that a caller without `instances:write` can call during a pairing. */
const QR = '2@MARKER-of-the-QR';
const TYPED = 'MARKER42';
const OTHER_SCOPES = SCOPES.filter((scope) => scope !== 'instances:write');
const EXPIRES_MS = 60_000;

/** All lines of both logs: the one of the program, and the one of its answers. */
const log: string[] = [];
const write = (lines: string): void => void log.push(lines);
const add = Reflect.get<AccessLog, 'add'>(AccessLog.prototype, 'add');
let api: TestApi;
let account: TestAccount;
let ids: Record<string, string>;
/** Data URL of the QR code. */
let image: string;

beforeAll(async () => {
  AccessLog.prototype.add = function (this: AccessLog, ...answer): void {
    add.apply(Object.assign(this, { write }), answer);
  };
  api = await openApi({ logLevel: 'trace', logTo: { write } });
  account = await api.account();
  const world = await makeWorld(api, account);
  const ofConsole = (await makeConsoleWorld(api, account)).ids;
  const created = await world.client.call<{ id: string }>('POST', '/v1/instances', {
    body: { name: 'loja' },
  });
  ids = { ...world.ids, ...ofConsole, instance_id: created.body.id };
  const uuid = fromPublicId('instance', created.body.id)!;
  const endpoint = await world.client.call<{ id: string }>('POST', '/v1/webhook-endpoints', {
    body: { url: 'https://example.org/codes', event_types: ['instance.qr'] },
  });
  const path = `/v1/instances/${created.body.id}/pairing`;
  const headers = { 'idempotency-key': 'pairing' };
  image = (await openPairing(created.body.id, () => world.client.call<PairingOut>('POST', path, { headers })))
    .qr!.image;
  const event = await api.db.event.findFirstOrThrow({ where: { instanceId: uuid, type: 'instance.qr' } });
  const delivery = await api.db.webhookDelivery.findFirstOrThrow({ where: { eventId: event.id } });
  // The receiver repeats the request in its answer.
  const answer = new Sealer(parseEncryptionKeys(api.encryptionKeys)).seal(
    ...([account.id, 'webhook_deliveries.last_response_sealed', `received ${QR}`] as const),
  );
  await api.db.webhookDelivery.update({
    where: { id: delivery.id },
    data: { lastResponseSealed: new Uint8Array(answer) },
  });
  Object.assign(ids, {
    event_id: toPublicId('event', event.id),
    delivery_id: toPublicId('delivery', delivery.id),
    endpoint_id: endpoint.body.id,
  });
});
afterAll(async () => {
  await api.stop();
  AccessLog.prototype.add = add;
});

/** Opens a session of each method with its code on display, the typed one on an instance of its own. */
async function openPairing(id: string, pair: () => Promise<{ body: PairingOut }>): Promise<PairingOut> {
  const engine = await api.engine(id);
  for (const name of ['check-contact', 'read', 'presence', 'groups', 'group'] as const) {
    engine.handlers[name] = () => new CommandRefusal('not-connected');
  }
  engine.handlers.pair = async ({ session, method }) => {
    const kind = method as 'qr' | 'code';
    const code = kind === 'qr' ? QR : TYPED;
    await engine.call('pairing', {
      session: session as string,
      news: { kind, code, expires_in_ms: EXPIRES_MS },
    });
    return {};
  };
  return (await pair()).body;
}

/** The codes in a text. */
const findCodes = (text: string): string[] =>
  [QR, TYPED, image.slice(0, 200)].filter((code) => text.includes(code)).map((code) => code.slice(0, 12));

type Headers = Record<string, string>;

/** Texts of all answers to reads by a caller, with their paths. */
async function readEverything(headers: Headers): Promise<{ path: string; status: number; text: string }[]> {
  const operations = [...OPERATIONS, ...CONSOLE_OPERATIONS].filter(
    ({ method, resultType }) => method === 'GET' && resultType !== 'text/event-stream',
  );
  const paths = operations.map(({ path }) =>
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'x'),
  );
  const more = [
    '/v1/events?type=instance.qr',
    '/',
    '/docs',
    '/openapi.json',
    '/console',
    '/metrics',
    '/livez',
  ];
  const answers = [];
  for (const path of [...paths, ...more]) {
    const answer = await fetch(`http://127.0.0.1:${api.port}${path}`, { headers });
    const text = JSON.stringify([...answer.headers]) + (await answer.text());
    answers.push({ path, status: answer.status, text });
  }
  return answers;
}

const document = openApiDocument({
  operations: OPERATIONS,
  baseUrl: 'https://example.org',
  docsUrl: 'https://docs.example.org',
});
const isChange = ({ method }: Operation): boolean => method === 'POST' || method === 'PATCH';

/** Texts of the answers to all changes by a caller, each with its example and the ids of the account. */
async function changeEverything(headers: Headers): Promise<{ path: string; status: number; text: string }[]> {
  const samples = [
    ...OPERATIONS.filter(isChange).map((operation) => buildSample(operation, document, ids)),
    ...CONSOLE_OPERATIONS.filter(isChange).map((operation) => sampleOf(operation, ids)),
  ];
  const answers = [];
  for (const { method, path, body, headers: own } of samples) {
    const text = typeof body === 'string' ? body : JSON.stringify(withIds(body ?? null, ids));
    const answer = await fetch(`http://127.0.0.1:${api.port}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers, ...own },
      ...(body !== undefined && { body: text }),
    });
    const seen = JSON.stringify([...answer.headers]) + (await answer.text());
    answers.push({ path, status: answer.status, text: seen });
  }
  return answers;
}

const byKey = async (scopes: readonly Scope[]): Promise<Headers> => ({
  authorization: `Bearer ${(await api.key(account, { scopes })).key}`,
});
const bySession = async (role: 'viewer' | 'agent' | 'developer' | 'admin'): Promise<Headers> =>
  (await openBrowser(api, account, role)).headers;

const readers: [string, () => Promise<Headers>][] = [
  ['a viewer', () => bySession('viewer')],
  ['an agent', () => bySession('agent')],
  ['a developer', () => bySession('developer')],
  ['a key with every other scope', () => byKey(OTHER_SCOPES)],
  ...OTHER_SCOPES.map((scope): [string, () => Promise<Headers>] => [
    `a key with ${scope}`,
    () => byKey([scope]),
  ]),
];

test('callers with instances:write read the codes, so that the walk can find them', async () => {
  for (const headers of [await bySession('admin'), await byKey(SCOPES)]) {
    const answers = await readEverything(headers);
    const found = answers.filter(({ text }) => findCodes(text).length > 0).map(({ path }) => path);
    expect(found).toEqual(
      expect.arrayContaining([
        `/v1/instances/${ids['instance_id']}/pairing`,
        '/v1/events',
        `/v1/events/${ids['event_id']}`,
        '/v1/events?type=instance.qr',
      ]),
    );
    const path = `/console/api/webhook-deliveries/${ids['delivery_id']}`;
    expect(found.includes(path)).toBe('cookie' in headers);
  }
});

test.each(readers)('%s reads no code by any operation or page', async (_name, open) => {
  const headers = await open();
  const answers = await readEverything(headers);
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(2);
  expect(answers.flatMap(({ path, text }) => findCodes(text).map((code) => [path, code]))).toEqual([]);
  const again = await fetch(`http://127.0.0.1:${api.port}/v1/instances/${ids['instance_id']}/pairing`, {
    method: 'POST',
    headers: { ...headers, 'idempotency-key': 'pairing' },
  });
  expect([again.status, findCodes(await again.text())]).toEqual([403, []]);
});

/** Keys without `instances:read` do not read the pairing at all. */
const WATCHERS = readers.slice(0, 5);

test.each(readers.slice(5))('%s gets no stream', async (_name, open) => {
  const { instances } = await openBoth();
  const headers = await open();
  for (const id of instances) {
    const answer = await fetch(`http://127.0.0.1:${api.port}/v1/instances/${id}/pairing/stream`, { headers });
    expect([answer.status, findCodes(await answer.text())]).toEqual([403, []]);
  }
});

test.each(WATCHERS)('%s reads no code from the stream, but state and time left', async (_name, open) => {
  const { instances, qr } = await openBoth();
  const headers = await open();
  for (const id of instances) {
    const stream = openStream(`http://127.0.0.1:${api.port}/v1/instances/${id}/pairing/stream`, headers);
    await until(() => stream.events.length > 0, { what: 'the stream names the code' });
    stream.close();
    expect(stream.events).toEqual([
      { event: id === qr ? 'qr' : 'code', data: { expires_in_s: expect.any(Number) as number } },
    ]);
    const answer = await fetch(`http://127.0.0.1:${api.port}/v1/instances/${id}/pairing`, { headers });
    expect(await answer.json()).toEqual({
      instance_id: id,
      state: 'pairing',
      qr: null,
      pairing_code: null,
      passkey: null,
      expires_in_s: expect.any(Number) as number,
      error: null,
    });
  }
});

let both: Promise<{ instances: string[]; qr: string }> | undefined;
/** Opens the typed pairing beside that of the QR code. */
function openBoth() {
  both ??= (async () => {
    const client = await api.clientOf(account);
    const { id } = (await client.call<{ id: string }>('POST', '/v1/instances', { body: { name: 'typed' } }))
      .body;
    const body = { method: 'code', phone: '5511987654321' };
    const shown = await openPairing(id, () => client.call('POST', `/v1/instances/${id}/pairing`, { body }));
    expect(shown).toMatchObject({ pairing_code: TYPED, expires_in_s: EXPIRES_MS / 1000 });
    return { instances: [ids['instance_id']!, id], qr: ids['instance_id']! };
  })();
  return both;
}

test.each(readers)('%s reads no code from the answer to any change', async (_name, open) => {
  await openBoth();
  const answers = await changeEverything(await open());
  expect(answers.length).toBeGreaterThan(40);
  expect(answers.filter(({ status }) => status === 500)).toEqual([]);
  expect(answers.flatMap(({ path, text }) => findCodes(text).map((code) => [path, code]))).toEqual([]);
});

test('an operation that deletes answers without a body, so the walks leave it out', () => {
  const deletions = [...OPERATIONS, ...CONSOLE_OPERATIONS].filter(({ method }) => method === 'DELETE');
  expect(deletions.filter(({ result, status }) => result !== undefined || status !== 204)).toEqual([]);
});

test('the metrics have no code', async () => {
  const answer = await fetch(`http://127.0.0.1:${api.port}/metrics`);
  const text = await answer.text();
  expect(text).toContain('gwk_');
  expect(findCodes(text)).toEqual([]);
});

test('the log has no code', () => {
  const text = log.join('');
  expect(text).toContain('lease acquired');
  expect(text).toContain('"operation":"streamPairing"');
  expect(findCodes(text)).toEqual([]);
});
