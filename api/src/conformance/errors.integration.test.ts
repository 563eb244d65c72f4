import { fromPublicId } from '@gwk/core/ids/ids';
import {
  PROBLEMS,
  type ConsoleProblemCode,
  type ProblemBody,
  type ProblemCode,
} from '@gwk/core/problems/problems';
import type { InstanceOut } from '../resources/instance.js';
import type { MediaOut } from '@gwk/core/resources/media';
import type { SandboxInboundOut } from '../resources/sandbox.js';
import type { MessageOut } from '@gwk/core/resources/message';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { sharedApi } from '@gwk/test/support/api/open-api';
import { hashBodyWithAllKeys, IdempotencyStore } from '../http/idempotency/store.js';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { Answer, ApiClient } from '@gwk/test/support/api/client';
import { StandingTransfers } from '@gwk/test/support/api/standing-transfers';
import { upload } from '@gwk/test/support/api/upload';
import { makeWorld, type World } from '@gwk/test/support/api/world';

/** Provokes every problem of the HTTP interface as a client would. */
let api: TestApi;
let world: World;
let account: TestAccount;
let client: ApiClient;
let ids: World['ids'];

beforeAll(async () => void (api = await sharedApi()));
beforeEach(async () => {
  account = await api.account();
  world = await makeWorld(api, account);
  ({ client, ids } = world);
});

type Refusal = Promise<Answer<ProblemBody>>;
const post = (path: string, body?: unknown, headers: Record<string, string> = {}): Refusal =>
  client.call('POST', path, { ...(body !== undefined && { body }), headers });
const get = (path: string, who = client): Refusal => who.call('GET', path);
const instancePath = (path = '') => `/v1/instances/${ids['instance_id']!}${path}`;
const patchInstance = (body: unknown): Refusal => client.call('PATCH', instancePath(), { body });
const messagePath = () => `/v1/messages/${ids['message_id']!}`;
const uuid = (id: string, kind: 'instance' | 'message' | 'media' | 'delivery') => fromPublicId(kind, id)!;

const text = { type: 'text', text: { body: 'oi' } };
const send = (message: object, to = '5511987654321'): Refusal =>
  post('/v1/messages', { instance_id: ids['instance_id'], to, ...message });

/** Marks the message of the world as sent at the given time. */
async function markSent(sentAt = new Date(), type = 'text'): Promise<void> {
  const id = uuid(ids['message_id']!, 'message');
  await api.db.outboxEntry.deleteMany({ where: { messageId: id } });
  await api.db.message.updateMany({ where: { id }, data: { status: 'sent', sentAt, type } });
}

/** Active hours that exclude the present. */
function closedNow(outside: string): object {
  const hour = (offset: number) => `${String((new Date().getUTCHours() + offset) % 24).padStart(2, '0')}:00`;
  return { active_hours: { start: hour(4), end: hour(6), timezone: 'UTC', outside } };
}

async function newInstance(name: string, kind: string): Promise<Answer<InstanceOut>> {
  return client.call<InstanceOut>('POST', '/v1/instances', { body: { name, kind } });
}

async function beginRequest(key: string, body: unknown): Promise<void> {
  const sealer = new Sealer(parseEncryptionKeys(api.encryptionKeys));
  await new IdempotencyStore(api.db, sealer).begin({
    accountId: account.id,
    route: 'POST /v1/opt-outs',
    key,
    ...hashBodyWithAllKeys(sealer, account.id, { params: {}, body }),
    instanceId: null,
  });
}

/** More rounds than any limit of uploads. */
const MAX_UPLOAD_ROUNDS = 1_000;

/**
 * Uploads one file after another while each of these accounts begins one upload more that does not end. Not a fixed number
 * of them: uploads of an earlier test may still hold their places, and the API would refuse the last ones.
 * @returns the refusal
 */
async function uploadBeside(accounts: readonly TestAccount[]): Refusal {
  const standing = new StandingTransfers();
  const keys = await Promise.all(accounts.map(async (other) => (await api.key(other)).key));
  try {
    for (let round = 0; round < MAX_UPLOAD_ROUNDS; round++) {
      for (const key of keys) await standing.upload(key, { port: api.port });
      const answer = await upload<ProblemBody>(client, [{ name: 'file', filename: 'a', content: 'a' }]);
      if (answer.status !== 201) return answer;
    }
    throw new Error(`no upload was refused in ${MAX_UPLOAD_ROUNDS} rounds`);
  } finally {
    standing.leave();
  }
}

const MINUTES = 60_000;

/** One request for each problem, except those of the console (../console). A code without a row does not compile. */
const CASES: Record<Exclude<ProblemCode, ConsoleProblemCode>, { when: string; provoke: () => Refusal }> = {
  unauthorized: {
    when: 'the key is missing',
    provoke: () => get('/v1/instances', api.client(null)),
  },
  'insufficient-scope': {
    when: 'the key lacks the scope',
    provoke: async () => get('/v1/instances', await api.clientOf(account, { scopes: ['messages:read'] })),
  },
  forbidden: {
    when: 'a restricted key creates an instance',
    provoke: async () => {
      const instances = [uuid(ids['instance_id']!, 'instance')];
      const restricted = await api.clientOf(account, { instances });
      return restricted.call('POST', '/v1/instances', { body: { name: 'x' } });
    },
  },
  'account-suspended': {
    when: 'a suspended account sends',
    provoke: async () => {
      const data = { suspendedAt: new Date() };
      await api.db.account.update({ where: { id: account.id }, data });
      client = await api.clientOf(account);
      return send(text);
    },
  },
  'validation-error': {
    when: 'fields are invalid',
    provoke: () => post('/v1/instances', { name: '', nonsense: 1 }),
  },
  'invalid-message': {
    when: 'type image has no image field',
    provoke: () => send({ type: 'image' }),
  },
  'invalid-phone': { when: 'the phone has 7 digits', provoke: () => send(text, '1234567') },
  'invalid-reply-to': {
    when: 'the quoted message is unsent',
    provoke: () => send({ ...text, reply_to: ids['message_id'] }),
  },
  'message-of-former-account': {
    when: 'another account was linked after the message was sent',
    provoke: async () => {
      await markSent();
      const id = uuid(ids['instance_id']!, 'instance');
      await api.db.instance.update({ where: { id }, data: { otherAccountAt: new Date(Date.now() + 1) } });
      return client.call('DELETE', messagePath());
    },
  },
  'invalid-policy': {
    when: 'a policy value is negative',
    provoke: () => patchInstance({ policy: { mass_block: { max_contacts: -1 } } }),
  },
  'invalid-timezone': {
    when: 'the time zone is no IANA name',
    provoke: () =>
      patchInstance({ policy: { active_hours: { start: '08:00', end: '18:00', timezone: 'Mars/Base' } } }),
  },
  'invalid-month': {
    when: 'the month is 2026-13',
    provoke: () => get(instancePath('/availability?month=2026-13')),
  },
  'invalid-webhook-url': {
    when: 'the URL is not HTTPS',
    provoke: () => post('/v1/webhook-endpoints', { url: 'http://example.org/' }),
  },
  'invalid-cursor': { when: 'the cursor was not issued', provoke: () => get('/v1/events?cursor=x') },
  'invalid-idempotency-key': {
    when: 'the key has 256 characters',
    provoke: () => post('/v1/opt-outs', { phone: '5511900000001' }, { 'idempotency-key': 'x'.repeat(256) }),
  },
  'idempotency-key-reused': {
    when: 'the key was used with another body',
    provoke: async () => {
      await post('/v1/opt-outs', { phone: '5511900000001' }, { 'idempotency-key': 'k' });
      return post('/v1/opt-outs', { phone: '5511900000002' }, { 'idempotency-key': 'k' });
    },
  },
  'idempotency-in-progress': {
    when: 'the first request with the key is in progress',
    provoke: async () => {
      await beginRequest('k', { phone: '5511900000001' });
      return post('/v1/opt-outs', { phone: '5511900000001' }, { 'idempotency-key': 'k' });
    },
  },
  'precondition-failed': {
    when: 'If-Match names another version',
    provoke: () => client.call('PATCH', instancePath(), { body: {}, headers: { 'if-match': '"0"' } }),
  },
  'not-found': {
    when: 'the resource does not exist',
    provoke: () => get(`/v1/messages/msg_${'0'.repeat(32)}`),
  },
  'method-not-allowed': { when: 'the route has no PUT', provoke: () => client.call('PUT', instancePath()) },
  'instance-limit-reached': {
    when: 'the account has reached its instance limit',
    provoke: async () => {
      await api.db.account.update({ where: { id: account.id }, data: { maxInstances: 0 } });
      return newInstance('x', 'web') as unknown as Refusal;
    },
  },
  'instance-name-taken': {
    when: 'the name is in use',
    provoke: () => newInstance('one', 'sandbox') as unknown as Refusal,
  },
  'sandbox-limit-reached': {
    when: 'the account has 3 sandboxes',
    provoke: async () => {
      expect((await newInstance('two', 'sandbox')).status).toBe(201);
      expect((await newInstance('three', 'sandbox')).status).toBe(201);
      return newInstance('four', 'sandbox') as unknown as Refusal;
    },
  },
  'not-sandbox': {
    when: 'a web instance gets a simulated message',
    provoke: async () => {
      const { id } = (await newInstance('web', 'web')).body;
      return post(`/v1/instances/${id}/sandbox/inbound`, { from: '5511987654321', text: 'oi' });
    },
  },
  'already-paired': {
    when: 'the instance is paired',
    provoke: async () => {
      const engine = await api.engine(ids['instance_id']!);
      await engine.connect();
      return post(instancePath('/pairing'));
    },
  },
  'passkey-not-awaited': {
    when: 'the pairing waits for no passkey',
    provoke: () => post(instancePath('/pairing/passkey/confirm')),
  },
  'pairing-failed': {
    when: 'the network refuses pairing',
    provoke: async () => {
      const { id } = (await newInstance('web', 'web')).body;
      const engine = await api.engine(id);
      engine.handlers.pair = async ({ session }) => {
        const news = { kind: 'failed', reason: 'refused' } as const;
        await engine.call('pairing', { session: session as string, news });
        return {};
      };
      return post(`/v1/instances/${id}/pairing`);
    },
  },
  'engine-unavailable': {
    when: 'no engine runs',
    provoke: () => get(instancePath('/contacts/5511987654321')),
  },
  'contact-opted-out': {
    when: 'the contact opted out',
    provoke: async () => {
      await post('/v1/opt-outs', { phone: '5511987654321' });
      return send(text);
    },
  },
  'policy-new-contacts-limit': {
    when: 'the limit of new contacts is reached',
    provoke: async () => {
      await patchInstance({ policy: { new_contacts_per_day: 1 } });
      return send(text, '5511900000001');
    },
  },
  'policy-mass-send-blocked': {
    when: 'the mass-send limit is reached',
    provoke: async () => {
      await patchInstance({ policy: { mass_block: { max_contacts: 1, window_minutes: 60 } } });
      return send(text, '5511900000001');
    },
  },
  'policy-outside-hours': {
    when: 'the send is outside active hours',
    provoke: async () => {
      await patchInstance({ policy: closedNow('reject') });
      return send(text);
    },
  },
  'rate-limited': {
    when: 'the requests per minute are used up',
    provoke: async () => {
      await api.db.account.update({ where: { id: account.id }, data: { requestsPerMinute: 1 } });
      const limited = await api.clientOf(account);
      let answer = await get('/v1/instances', limited);
      // A new minute may start in between.
      for (let i = 0; i < 3 && answer.status === 200; i++) answer = await get('/v1/instances', limited);
      return answer;
    },
  },
  'media-not-found': {
    when: 'the file does not exist',
    provoke: () => send({ type: 'image', image: { media: { media_id: `med_${'0'.repeat(32)}` } } }),
  },
  'media-expired': {
    when: 'the file is 30 days old',
    provoke: async () => {
      const id = uuid(ids['media_id']!, 'media');
      await api.db.media.update({ where: { id }, data: { expiresAt: new Date() } });
      return get(`/v1/media/${ids['media_id']!}`);
    },
  },
  'file-too-large': {
    when: 'Content-Length exceeds 64 MB',
    provoke: () => upload(client, [{ name: 'file', content: 'x' }], { announced: 70_000_000 }),
  },
  'empty-file': {
    when: 'the file has no bytes',
    provoke: () =>
      upload<MediaOut>(client, [{ name: 'file', filename: 'a', content: '' }]) as unknown as Refusal,
  },
  'too-many-transfers': {
    when: 'a quarter of all uploads are of this account',
    provoke: () => uploadBeside([account]),
  },
  'server-busy': {
    when: 'other accounts have all uploads in progress',
    provoke: async () => {
      const others = await Promise.all(Array.from({ length: 4 }, () => api.account()));
      return uploadBeside(others);
    },
  },
  'storage-limit-reached': {
    when: 'the account may store no more files',
    provoke: async () => {
      await api.db.account.update({ where: { id: account.id }, data: { maxMediaFiles: 0 } });
      return upload<MediaOut>(client, [{ name: 'file', filename: 'a', content: 'a' }]) as unknown as Refusal;
    },
  },
  'message-not-sent': {
    when: 'the target of a reaction is queued',
    provoke: () => post(`${messagePath()}/reactions`, { emoji: '👍' }),
  },
  'not-editable': {
    when: 'an image is edited',
    provoke: async () => {
      await markSent(new Date(), 'image');
      return client.call('PATCH', messagePath(), { body: { text: 'x' } });
    },
  },
  'edit-window-closed': {
    when: 'the message was sent 15 minutes and a second ago',
    provoke: async () => {
      await markSent(new Date(Date.now() - 15 * MINUTES - 1_000));
      return client.call('PATCH', messagePath(), { body: { text: 'x' } });
    },
  },
  'message-sending': {
    when: 'a scheduled message is being sent',
    provoke: async () => {
      await patchInstance({ policy: closedNow('schedule') });
      const { id } = (await send(text)).body as unknown as MessageOut;
      const messageId = uuid(id, 'message');
      await api.db.message.updateMany({ where: { id: messageId }, data: { status: 'sending' } });
      return client.call('DELETE', `/v1/messages/${id}`);
    },
  },
  'webhook-limit-reached': {
    when: 'the account has 10 webhook endpoints',
    provoke: async () => {
      const create = () => post('/v1/webhook-endpoints', { url: 'https://example.org/' });
      for (let count = 2; count <= 10; count++) expect((await create()).status).toBe(201);
      return create();
    },
  },
  'delivery-pending': {
    when: 'the delivery is pending',
    provoke: async () => {
      const id = uuid(ids['delivery_id']!, 'delivery');
      await api.db.webhookDelivery.updateMany({ where: { id }, data: { status: 'pending' } });
      return post(`/v1/webhook-deliveries/${ids['delivery_id']!}/retry`);
    },
  },
  'internal-error': {
    when: 'a table is missing',
    provoke: async () => {
      await api.db.$executeRaw`ALTER TABLE opt_outs RENAME TO opt_outs_gone`;
      try {
        return await get('/v1/opt-outs');
      } finally {
        await api.db.$executeRaw`ALTER TABLE opt_outs_gone RENAME TO opt_outs`;
      }
    },
  },
};

/** Problems with a Retry-After header. */
const WITH_RETRY_AFTER: readonly ProblemCode[] = [
  'rate-limited',
  'policy-new-contacts-limit',
  'engine-unavailable',
  'idempotency-in-progress',
  'too-many-transfers',
  'server-busy',
];

const rows = Object.entries(CASES).map(([code, row]) => ({ code: code as ProblemCode, ...row }));

test.each(rows)('$code: $when', async ({ code, provoke }) => {
  const { status, headers, body } = await provoke();
  expect([status, body.type]).toEqual([PROBLEMS[code].status, `https://docs.example.org/problems/${code}`]);
  expect(headers['content-type']).toBe('application/problem+json');
  expect(body).toMatchObject({ title: PROBLEMS[code].title, status, request_id: headers['x-request-id'] });
  if (WITH_RETRY_AFTER.includes(code)) expect(Number(headers['retry-after'])).toBeGreaterThan(0);
});

const codeOf = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);

describe('responses that no other test produces', () => {
  test('returns engine-unavailable if the Instance resource cannot be written', async () => {
    api.cluster.mood = 'fails';
    const answer = await patchInstance({ interactive_mode: 'text' }).finally(
      () => (api.cluster.mood = 'well'),
    );
    expect([answer.status, codeOf(answer)]).toEqual([503, 'engine-unavailable']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  });

  test('returns invalid-phone for presence in a malformed chat', async () => {
    const answer = await client.call('POST', `${instancePath()}/chats/12345/presence`, {
      body: { state: 'typing' },
    });
    expect(codeOf(answer)).toBe('invalid-phone');
  });

  test('returns not-editable for the deletion of an inbound message', async () => {
    const { body } = await client.call<SandboxInboundOut>('POST', `${instancePath()}/sandbox/inbound`, {
      body: { from: '5511987654321', text: 'oi' },
    });
    const answer = await client.call('DELETE', `/v1/messages/${body.message_id}`);
    expect(codeOf(answer)).toBe('not-editable');
  });
});
