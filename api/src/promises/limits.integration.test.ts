import { PROBLEMS, type ProblemBody, type ProblemCode } from '@gwk/core/problems';
import { MAX_MEDIA_BYTES } from '@gwk/core/resources/media';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { Answer, ApiClient } from '@gwk/test/support/api/client';
import { noise, upload } from '@gwk/test/support/api/upload';
import { makeWorld, type World } from '@gwk/test/support/api/world';

/**
 * The rows of the table of limits (spec: Limits) that a request can meet: the largest that is accepted, and one more,
 * which is refused. Those of time are in limits-of-time.integration.test.ts.
 */
let api: TestApi;
let world: World;
let account: TestAccount;
let client: ApiClient;
let ids: World['ids'];

beforeAll(async () => {
  api = await openApi();
});
beforeEach(async () => {
  account = await api.account();
  world = await makeWorld(api, account);
  ({ client, ids } = world);
  await call('PATCH', instancePath(), { policy: ROOMY });
});
afterAll(() => api.stop());

/** No other limit is to be met by chance. */
const ROOMY = { mass_block: { max_contacts: 10_000, window_minutes: 1 }, new_contacts_per_day: 100_000 };

type Any = Answer<ProblemBody>;
const call = (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Any> => client.call(method, path, { ...(body !== undefined && { body }), headers });
const instancePath = (path = '') => `/v1/instances/${ids['instance_id']!}${path}`;

function send(type: string, content: unknown, more: object = {}): Promise<Any> {
  const body = { instance_id: ids['instance_id'], to: '5511987654321', type, [type]: content, ...more };
  return call('POST', '/v1/messages', body);
}

const media = (more: object = {}) => ({ media: { media_id: ids['media_id'], ...more } });
const button = (more: object = {}) => ({ type: 'reply', id: 'a', label: 'A', ...more });
const buttons = (...list: object[]) => send('interactive', { body: 'x', buttons: list });
const list = (sections: object[], label = 'x') =>
  send('interactive', { body: 'x', list: { button: label, sections } });
const row = (more: object = {}) => ({ id: 'a', title: 'A', ...more });
const section = (rows: object[] = [row()], title = 'S') => ({ title, rows });
const some = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const policy = (given: object) => call('PATCH', instancePath(), { policy: given });
/** Four bytes in UTF-8 and two units in UTF-16: one character. */
const long = (length: number) => '😀'.repeat(length);

/** One limit: what is accepted at it, what is refused beyond it. Several where a row has several. */
interface Bound {
  what: string;
  accepted: (() => Promise<Any>)[];
  refused: (() => Promise<Any>)[];
  code?: ProblemCode;
}
const bound = (
  what: string,
  accepted: Bound['accepted'][number] | Bound['accepted'],
  refused: Bound['refused'][number] | Bound['refused'],
  code: ProblemCode = 'validation-error',
): Bound => ({ what, accepted: [accepted].flat(), refused: [refused].flat(), code });

/** A text between two lengths. */
const lengths = (what: string, least: number, most: number, use: (text: string) => Promise<Any>): Bound =>
  bound(
    what,
    [() => use('x'.repeat(Math.max(least, 1))), () => use(long(most))],
    [() => use(long(most + 1)), ...(least > 0 ? [() => use('')] : [])],
  );

const ofUrl = (length: number) => `https://example.org/${'x'.repeat(length - 'https://example.org/'.length)}`;
const digits = (length: number) => '5511987654321987'.slice(0, length);

const LIMITS: { row: string; bounds: Bound[] }[] = [
  {
    row: 'page size `limit`: 1 to 200',
    bounds: ['/v1/instances', '/v1/messages', '/v1/events', '/v1/opt-outs'].map((path) =>
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
    row: 'text body: up to 65,536 characters',
    bounds: [lengths('a text', 1, 65_536, (body) => send('text', { body }))],
  },
  {
    row: 'caption: up to 1,024 characters',
    bounds: ['image', 'video', 'document'].map((type) =>
      lengths(type, 0, 1024, (caption) => send(type, { ...media(), caption })),
    ),
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
      lengths('media input', 1, 255, (filename) => send('document', media({ filename }))),
      bound(
        'upload',
        () => uploadNamed(long(255)),
        () => uploadNamed(long(256)),
      ),
    ],
  },
  {
    row: '`mimetype`: up to 120 characters',
    bounds: [lengths('media input', 1, 120, (mimetype) => send('document', media({ mimetype })))],
  },
  {
    row: 'media/button URL: up to 2,083 characters',
    bounds: [
      bound(
        'media',
        () => send('image', { media: { url: ofUrl(2083) } }),
        () => send('image', { media: { url: ofUrl(2084) } }),
      ),
      bound(
        'button',
        () => buttons(button({ type: 'url', url: ofUrl(2083) })),
        () => buttons(button({ type: 'url', url: ofUrl(2084) })),
      ),
    ],
  },
  {
    row: 'interactive body: 1 to 1,024 characters',
    bounds: [lengths('body', 1, 1024, (body) => send('interactive', { body, buttons: [button()] }))],
  },
  {
    row: 'interactive footer: up to 60 characters',
    bounds: [
      lengths('footer', 0, 60, (footer) => send('interactive', { body: 'x', footer, buttons: [button()] })),
    ],
  },
  {
    row: 'buttons: 1 to 3; label 1 to 25 chars; id up to 100; code up to 512',
    bounds: [
      bound(
        'count',
        [1, 3].map((count) => () => buttons(...some(count, (i) => button({ id: `${i}`, label: `L${i}` })))),
        [0, 4].map((count) => () => buttons(...some(count, (i) => button({ id: `${i}`, label: `L${i}` })))),
      ),
      lengths('label', 1, 25, (label) => buttons(button({ label }))),
      lengths('id', 1, 100, (id) => buttons(button({ id }))),
      lengths('code', 1, 512, (code) => buttons(button({ type: 'copy', code }))),
    ],
  },
  {
    row: 'list: up to 10 sections, 1 to 10 rows each; button text up to 20; section title up to 24; row title up to 24; row description up to 72; row id up to 200',
    bounds: [
      bound(
        'sections',
        [1, 10].map(
          (count) => () => list(some(count, (i) => section([row({ id: `${i}`, title: `T${i}` })]))),
        ),
        [0, 11].map(
          (count) => () => list(some(count, (i) => section([row({ id: `${i}`, title: `T${i}` })]))),
        ),
      ),
      bound(
        'rows',
        [1, 10].map(
          (count) => () => list([section(some(count, (i) => row({ id: `${i}`, title: `T${i}` })))]),
        ),
        [0, 11].map(
          (count) => () => list([section(some(count, (i) => row({ id: `${i}`, title: `T${i}` })))]),
        ),
      ),
      lengths('button text', 1, 20, (text) => list([section()], text)),
      lengths('section title', 0, 24, (title) => list([section([row()], title)])),
      lengths('row title', 1, 24, (title) => list([section([row({ title })])])),
      lengths('row description', 0, 72, (description) => list([section([row({ description })])])),
      lengths('row id', 1, 200, (id) => list([section([row({ id })])])),
    ],
  },
  {
    row: 'poll options: 2 to 12',
    bounds: [
      bound(
        'options',
        [2, 12].map((count) => () => poll(count)),
        [1, 13].map((count) => () => poll(count)),
      ),
      bound(
        'selectable',
        () => poll(3, 3),
        () => poll(3, 4),
      ),
    ],
  },
  {
    row: 'contact message: up to 5 phones; name up to 200; organization up to 200',
    bounds: [
      bound(
        'phones',
        [1, 5].map(
          (count) => () => send('contact', { name: 'x', phones: some(count, () => '+5511987654321') }),
        ),
        [0, 6].map(
          (count) => () => send('contact', { name: 'x', phones: some(count, () => '+5511987654321') }),
        ),
      ),
      lengths('name', 1, 200, (name) => send('contact', { name, phones: ['5511987654321'] })),
      lengths('organization', 0, 200, (organization) =>
        send('contact', { name: 'x', phones: ['5511987654321'], organization }),
      ),
    ],
  },
  {
    row: 'location: name up to 200, address up to 400',
    bounds: [
      lengths('name', 0, 200, (name) => send('location', { latitude: -90, longitude: 180, name })),
      lengths('address', 0, 400, (address) => send('location', { latitude: 90, longitude: -180, address })),
      bound('latitude and longitude', () => send('location', { latitude: 90, longitude: 180 }), [
        () => send('location', { latitude: 90.1, longitude: 0 }),
        () => send('location', { latitude: 0, longitude: -180.1 }),
      ]),
    ],
  },
  {
    row: 'webhook destinations: 10 per account',
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
    row: 'phone number: 8 to 15 digits (opt-out: 10 to 15)',
    bounds: [
      bound(
        'to',
        [8, 15].map((length) => () => send('text', { body: 'x' }, { to: digits(length) })),
        [7, 16].map((length) => () => send('text', { body: 'x' }, { to: digits(length) })),
        'invalid-phone',
      ),
      bound(
        'opt-out',
        [10, 15].map((length) => () => optOut(digits(length))),
        [9, 16].map((length) => () => optOut(digits(length))),
      ),
    ],
  },
];

const sandbox = (name: string) => call('POST', '/v1/instances', { name, kind: 'sandbox' });
const poll = (count: number, selectable = 1) =>
  send('poll', { name: 'x', options: some(count, (i) => ({ id: `${i}`, label: `L${i}` })), selectable });
const uploaded = (size: number) =>
  upload<ProblemBody>(client, [{ name: 'file', filename: 'a', content: noise(size) }]);
const uploadNamed = (filename: string) =>
  upload<ProblemBody>(client, [
    { name: 'file', filename: 'a', content: 'x' },
    { name: 'filename', content: filename },
  ]);
const optOut = (phone: string, key?: string) =>
  call('POST', '/v1/opt-outs', { phone }, key === undefined ? {} : { 'idempotency-key': key });

const rows = LIMITS.flatMap(({ row: name, bounds }) => bounds.map((each) => ({ name, ...each })));

test.each(rows)(
  '$name ($what)',
  async ({ accepted, refused, code }) => {
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
  },
  120_000,
);
