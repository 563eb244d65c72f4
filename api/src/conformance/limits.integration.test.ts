import { fromPublicId } from '@gwk/core/ids/ids';
import type { InstanceOut } from '../resources/instance.js';
import type { MediaOut } from '@gwk/core/resources/media';
import type { PairingOut } from '@gwk/core/resources/pairing';
import type { SecretRotationOut } from '../resources/webhook.js';
import { makeRecordId } from '../http/idempotency/store.js';
import { PROBLEMS, type ProblemBody, type ProblemCode } from '@gwk/core/problems/problems';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { Answer, ApiClient } from '@gwk/test/support/api/client';
import { noise, upload } from '@gwk/test/support/api/upload';
import { makeWorld, type World } from '@gwk/test/support/api/world';

/**
 * The documented limits (docs/limits.md) that a request can reach: accepts the largest value and refuses one more. Limits
 * of message content are in messages/send/request.test.ts. Limits that need an engine, the worker or another clock are
 * tested there.
 */
let api: TestApi;
let world: World;
let account: TestAccount;
let client: ApiClient;
let ids: World['ids'];

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  world = await makeWorld(api, account);
  ({ client, ids } = world);
  await call('PATCH', instancePath(), { policy: HIGH_LIMITS });
});

/** Keeps other limits out of reach. */
const HIGH_LIMITS = {
  mass_block: { max_contacts: 10_000, window_minutes: 1 },
  new_contacts_per_day: 100_000,
};

type Any = Answer<ProblemBody>;
const call = (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Any> => client.call(method, path, { ...(body !== undefined && { body }), headers });
const instancePath = (path = '') => `/v1/instances/${ids['instance_id']!}${path}`;

const some = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const policy = (given: object) => call('PATCH', instancePath(), { policy: given });
/** Four bytes in UTF-8 and two units in UTF-16: one character. */
const long = (length: number) => '😀'.repeat(length);

/** One limit: requests that it accepts, and requests beyond it. */
interface Bound {
  name: string;
  accepted: (() => Promise<Any>)[];
  refused: (() => Promise<Any>)[];
  code?: ProblemCode;
}
const bound = (
  name: string,
  accepted: Bound['accepted'][number] | Bound['accepted'],
  refused: Bound['refused'][number] | Bound['refused'],
  code: ProblemCode = 'validation-error',
): Bound => ({ name, accepted: [accepted].flat(), refused: [refused].flat(), code });

/** Bounds of a text length. */
const lengths = (name: string, least: number, most: number, use: (text: string) => Promise<Any>): Bound =>
  bound(
    name,
    [() => use('x'.repeat(Math.max(least, 1))), () => use(long(most))],
    [() => use(long(most + 1)), ...(least > 0 ? [() => use('')] : [])],
  );

const digits = (length: number) => '5511987654321987'.slice(0, length);

const LISTS = ['/v1/conversations', '/v1/contacts'];

const LIMITS: { row: string; bounds: Bound[] }[] = [
  {
    row: 'page size `limit`: 1 to 200',
    bounds: [...LISTS, '/v1/instances', '/v1/messages', '/v1/events', '/v1/opt-outs'].map((path) =>
      bound(
        path,
        [() => call('GET', `${path}?limit=1`), () => call('GET', `${path}?limit=200`)],
        [() => call('GET', `${path}?limit=0`), () => call('GET', `${path}?limit=201`)],
      ),
    ),
  },
  {
    row: '`Idempotency-Key` length: 1 to 255 characters',
    bounds: [
      bound(
        'POST /v1/opt-outs',
        [1, 255].map((length) => () => optOut('5511900000001', 'k'.repeat(length))),
        [0, 256].map((length) => () => optOut('5511900000001', 'k'.repeat(length))),
        'invalid-idempotency-key',
      ),
    ],
  },
  {
    row: 'instance `name`: 1 to 80 characters, unique per account',
    bounds: [
      lengths('create', 1, 80, (name) => call('POST', '/v1/instances', { name })),
      lengths('update', 1, 80, (name) => call('PATCH', instancePath(), { name })),
      bound(
        'unique',
        async () => {
          const stranger = await api.clientOf(await api.account());
          return stranger.call('POST', '/v1/instances', { body: { name: 'one' } });
        },
        () => call('POST', '/v1/instances', { name: 'one' }),
        'instance-name-taken',
      ),
    ],
  },
  {
    row: 'sandbox instances: 3 per account',
    bounds: [
      bound(
        'create',
        [() => sandbox('two'), () => sandbox('three')],
        () => sandbox('four'),
        'sandbox-limit-reached',
      ),
    ],
  },
  {
    row: 'media file size: 64 MB',
    bounds: [
      bound(
        'POST /v1/media',
        () => uploaded(MAX_MEDIA_BYTES),
        () => uploaded(MAX_MEDIA_BYTES + 1),
        'file-too-large',
      ),
    ],
  },
  {
    row: '`filename`: up to 255 characters',
    bounds: [
      bound(
        'upload',
        () => uploadNamed(long(255)),
        () => uploadNamed(long(256)),
      ),
    ],
  },
  {
    row: 'webhook endpoints: 10 per account',
    bounds: [
      bound(
        'create',
        some(9, () => () => call('POST', '/v1/webhook-endpoints', { url: 'https://example.org/' })),
        () => call('POST', '/v1/webhook-endpoints', { url: 'https://example.org/' }),
        'webhook-limit-reached',
      ),
    ],
  },
  {
    row: 'mass block policy: `max_contacts` 1..10000, `window_minutes` 1..1440',
    bounds: [
      bound(
        'max_contacts',
        [1, 10_000].map((max_contacts) => () => policy({ mass_block: { max_contacts } })),
        [0, 10_001].map((max_contacts) => () => policy({ mass_block: { max_contacts } })),
        'invalid-policy',
      ),
      bound(
        'window_minutes',
        [1, 1440].map((window_minutes) => () => policy({ mass_block: { window_minutes } })),
        [0, 1441].map((window_minutes) => () => policy({ mass_block: { window_minutes } })),
        'invalid-policy',
      ),
    ],
  },
  {
    row: 'opt-out keywords: up to 20 each, 1 to 30 chars each',
    bounds: (['keywords', 'resume_keywords'] as const).flatMap((name) => [
      bound(
        `${name}: count`,
        () => policy({ opt_out: { [name]: some(20, (i) => `w${i}`) } }),
        () => policy({ opt_out: { [name]: some(21, (i) => `w${i}`) } }),
        'invalid-policy',
      ),
      bound(
        `${name}: length`,
        [1, 30].map((length) => () => policy({ opt_out: { [name]: ['x'.repeat(length)] } })),
        [0, 31].map((length) => () => policy({ opt_out: { [name]: ['x'.repeat(length)] } })),
        'invalid-policy',
      ),
    ]),
  },
  {
    row: 'text for rejected calls: 1 to 4096 characters',
    bounds: [
      bound(
        'reject_calls.text',
        [1, 4096].map((length) => () => policy({ reject_calls: { text: 'x'.repeat(length) } })),
        [0, 4097].map((length) => () => policy({ reject_calls: { text: 'x'.repeat(length) } })),
        'invalid-policy',
      ),
    ],
  },
  {
    row: '`search` in lists: 1 to 100 characters',
    bounds: LISTS.map((path) =>
      bound(
        `GET ${path}`,
        [1, 100].map((length) => () => call('GET', `${path}?search=${'a'.repeat(length)}`)),
        [0, 101].map((length) => () => call('GET', `${path}?search=${'a'.repeat(length)}`)),
      ),
    ),
  },
  {
    row: 'opt-out filter `phone`: up to 15 characters',
    bounds: [
      bound(
        'GET /v1/opt-outs',
        [1, 15].map((length) => () => call('GET', `/v1/opt-outs?phone=${digits(length)}`)),
        () => call('GET', `/v1/opt-outs?phone=${digits(16)}`),
      ),
    ],
  },
  {
    row: 'phone number of an opt-out: 10 to 15 digits',
    bounds: [
      bound(
        'opt-out',
        [10, 15].map((length) => () => optOut(digits(length))),
        [9, 16].map((length) => () => optOut(digits(length))),
      ),
    ],
  },
];

const sandbox = (name: string) => call('POST', '/v1/instances', { name, kind: 'sandbox' });
const uploaded = (size: number) =>
  upload<ProblemBody>(client, [{ name: 'file', filename: 'a', content: noise(size) }]);
const uploadNamed = (filename: string) =>
  upload<ProblemBody>(client, [
    { name: 'file', filename: 'a', content: 'x' },
    { name: 'filename', content: filename },
  ]);
const optOut = (phone: string, key?: string) =>
  call('POST', '/v1/opt-outs', { phone }, key === undefined ? {} : { 'idempotency-key': key });

const rows = LIMITS.flatMap(({ row, bounds }) => bounds.map((each) => ({ row, ...each })));

test.each(rows)('$row ($name)', async ({ accepted, refused, code }) => {
  for (const ask of accepted) {
    const { status, body } = await ask();
    expect([status < 300, body]).toEqual([true, body]);
  }
  for (const ask of refused) {
    const { status, body } = await ask();
    expect([status, body.type]).toEqual([
      PROBLEMS[code!].status,
      `https://docs.example.org/problems/${code!}`,
    ]);
  }
});

const DAY = 24 * 3_600_000;
function expectBetween(time: number, began: number, ended: number): void {
  expect(time).toBeGreaterThanOrEqual(began);
  expect(time).toBeLessThanOrEqual(ended);
}

test('idempotency window: 24 hours', async () => {
  const ask = () =>
    client.call('POST', '/v1/opt-outs', {
      body: { phone: '5511900000009' },
      headers: { 'idempotency-key': 'k' },
    });
  const began = Date.now();
  expect((await ask()).status).toBe(201);
  const ended = Date.now();
  expect((await ask()).headers['idempotent-replayed']).toBe('true');
  const where = { id: makeRecordId({ accountId: account.id, route: 'POST /v1/opt-outs', key: 'k' }) };
  const { expiresAt } = await api.db.idempotencyRecord.findFirstOrThrow({ where });
  expectBetween(expiresAt.getTime() - DAY, began, ended);
  await api.db.idempotencyRecord.updateMany({ where, data: { expiresAt: new Date() } });
  const later = await ask();
  expect([later.status, later.headers['idempotent-replayed']]).toEqual([200, undefined]);
});

test('media validity: 30 days', async () => {
  const path = `/v1/media/${ids['media_id']!}`;
  const { body } = await client.call<MediaOut>('GET', path);
  const days = (Date.parse(body.expires_at) - Date.parse(body.created_at)) / DAY;
  expect(Math.abs(days - 30)).toBeLessThan(0.001);
  const where = { id: fromPublicId('media', ids['media_id']!)! };
  await api.db.media.update({ where, data: { expiresAt: new Date() } });
  expect((await client.call('GET', path)).body.type).toMatch(/media-expired$/);
  const { instance_id, media_id, phone } = ids;
  const message = { instance_id, to: phone, type: 'sticker', sticker: { media: { media_id } } };
  expect((await client.call('POST', '/v1/messages', { body: message })).body.type).toMatch(
    /media-not-found$/,
  );
});

test('webhook secret rotation overlap: 24 hours dual signing', async () => {
  const path = `/v1/webhook-endpoints/${ids['endpoint_id']!}/rotate-secret`;
  const began = Date.now();
  const { body } = await client.call<SecretRotationOut>('POST', path);
  expectBetween(Date.parse(body.previous_expires_at) - DAY, began, Date.now());
});

test('QR validity: about 20 seconds', async () => {
  const created = await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'web' } });
  const { id } = created.body;
  const engine = await api.engine(id);
  engine.handlers.pair = async ({ session }) => {
    await engine.showQr(session as string, 'a QR');
    return {};
  };
  const began = Date.now();
  const { body } = await client.call<PairingOut>('POST', `/v1/instances/${id}/pairing`);
  expect(body.qr!.expires_in_s).toBeGreaterThanOrEqual(20 - (Date.now() - began) / 1000);
  expect(body.qr!.expires_in_s).toBeLessThanOrEqual(20);
});
