import type { Role } from '../../roles.js';
import { SCOPES, type Scope } from '@gwk/core/scopes';
import { openBrowser } from '@gwk/test/support/api/console';
import type { TestReceiver } from '@gwk/test/support/api/deliveries';
import { endpointUuid, WebhookStage } from '@gwk/test/support/api/webhook-stage';
import { emit, instanceEvent } from '../../events/emit.js';

/** Pairing codes leave by webhook only to endpoints whose last change was made by a caller who may pair the instance now. */
const OTHER_SCOPES = SCOPES.filter((scope) => scope !== 'instances:write');
const CODE = '2@code-of-a-delivery';

let stage: WebhookStage;
let target: TestReceiver;
let instance: { id: string; uuid: string };

beforeAll(async () => {
  stage = await WebhookStage.shared();
  instance = await stage.newInstance();
  await stage.world.startWorker();
});
beforeEach(async () => {
  target = await stage.world.startReceiver();
});
afterEach(() => stage.world.clear());
afterAll(() => stage.world.reset());

interface Author {
  call<T>(method: string, path: string, sending: { body: unknown }): Promise<{ status: number; body: T }>;
}

const PATH = '/v1/webhook-endpoints';
const create = async (author: Author): Promise<string> => {
  const body = { url: target.url, event_types: ['instance.qr'] };
  return (await author.call<{ id: string }>('POST', PATH, { body })).body.id;
};
const change = async (author: Author, id: string): Promise<void> => {
  const { status } = await author.call('PATCH', `${PATH}/${id}`, { body: { description: 'changed' } });
  expect(status).toBe(200);
};

/** Emits a code, delivers it, and returns the code that the receiver got and the error of the delivery. */
async function deliver(endpoint: string): Promise<{ received: unknown; error: string | null }> {
  const data = { code: CODE, expires_in_s: 20 };
  const subject = { accountId: stage.account.id, instanceId: instance.uuid };
  await emit(stage.world.db, stage.world.sealer, [instanceEvent('instance.qr', subject, new Date(), data)]);
  const [delivery] = await stage.world.finished(endpointUuid(endpoint));
  const [post] = target.posts;
  const received = post && (JSON.parse(post.body) as { data: { code?: string } }).data.code;
  return { received: received ?? null, error: delivery!.lastError };
}

const DELIVERED = { received: CODE, error: null };
const REFUSED = {
  received: null,
  error: 'the endpoint was last changed by a caller who may not pair this instance',
};

const key = (scopes: readonly Scope[]) => stage.api.key(stage.account, { scopes });
const person = (role: Role, instances?: string[]) => openBrowser(stage.api, stage.account, role, instances);
const byKey = async (scopes: readonly Scope[]): Promise<Author> =>
  stage.api.clientOf(stage.account, { scopes });

const authors: [string, () => Promise<Author>, typeof DELIVERED | typeof REFUSED][] = [
  ['a key with every scope', () => byKey(SCOPES), DELIVERED],
  ['a key with every scope but instances:write', () => byKey(OTHER_SCOPES), REFUSED],
  ['an owner', () => person('owner'), DELIVERED],
  ['an admin', () => person('admin'), DELIVERED],
  ['a developer', () => person('developer'), REFUSED],
];

test.each(authors)('an endpoint of %s', async (_name, author, expected) => {
  expect(await deliver(await create(await author()))).toEqual(expected);
});

test.each(authors)('an endpoint of a key that %s has changed', async (_name, author, expected) => {
  const id = await create(await byKey(SCOPES));
  await change(await author(), id);
  expect(await deliver(id)).toEqual(expected);
});

test('an endpoint of a developer gets codes after a change by an admin', async () => {
  const id = await create(await person('developer'));
  await change(await person('admin'), id);
  expect(await deliver(id)).toEqual(DELIVERED);
});

test('the right must have existed at the change, too', async () => {
  const developer = await person('developer');
  const id = await create(developer);
  await stage.api.db.member.updateMany({ where: { userId: developer.user.id }, data: { role: 'admin' } });
  expect(await deliver(id)).toEqual(REFUSED);
});

const losses: [string, (author: { id: string }) => Promise<unknown>][] = [
  ['is revoked', ({ id }) => stage.api.db.apiKey.update({ where: { id }, data: { revokedAt: new Date() } })],
  [
    'has expired',
    ({ id }) => stage.api.db.apiKey.update({ where: { id }, data: { expiresAt: new Date(0) } }),
  ],
  [
    'may use other instances',
    ({ id }) => stage.api.db.apiKey.update({ where: { id }, data: { restricted: true } }),
  ],
  ['is deleted', ({ id }) => stage.api.db.apiKey.delete({ where: { id } })],
];

test.each(losses)('an endpoint whose key %s gets no code', async (_name, lose) => {
  const author = await key(SCOPES);
  const id = await create(stage.api.client(author.key));
  await lose(author);
  expect(await deliver(id)).toEqual(REFUSED);
});

const where = (userId: string) => ({ where: { userId } });
const changes: [string, (userId: string) => Promise<unknown>, typeof DELIVERED | typeof REFUSED][] = [
  [
    'is a viewer now',
    (id) => stage.api.db.member.updateMany({ ...where(id), data: { role: 'viewer' } }),
    REFUSED,
  ],
  ['is no member any more', (id) => stage.api.db.member.deleteMany(where(id)), REFUSED],
  [
    'may use other instances now',
    (id) => stage.api.db.member.updateMany({ ...where(id), data: { restricted: true } }),
    REFUSED,
  ],
  [
    'is a viewer and an administrator of the platform now',
    async (id) => {
      await stage.api.db.member.updateMany({ ...where(id), data: { role: 'viewer' } });
      await stage.api.db.user.update({ where: { id }, data: { isPlatformAdmin: true } });
    },
    DELIVERED,
  ],
];

test.each(changes)('an endpoint whose author %s', async (_name, lose, expected) => {
  const author = await person('admin');
  const id = await create(author);
  await lose(author.user.id);
  expect(await deliver(id)).toEqual(expected);
});

test('an endpoint of a restricted admin gets the codes of its instances', async () => {
  const id = await create(await person('admin', [instance.uuid]));
  expect(await deliver(id)).toEqual(DELIVERED);
});

test('a retry checks the right again', async () => {
  const author = await key(SCOPES);
  const id = await create(stage.api.client(author.key));
  await stage.api.db.apiKey.update({ where: { id: author.id }, data: { revokedAt: new Date() } });
  expect(await deliver(id)).toEqual(REFUSED);
  const { data } = await stage.deliveries(id);
  expect((await stage.retry(data[0]!.id)).status).toBe(202);
  expect(await stage.world.finished(endpointUuid(id))).toMatchObject([{ lastError: REFUSED.error }]);
  expect(target.posts).toEqual([]);
});
