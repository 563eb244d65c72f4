import { toPublicId } from '@gwk/core/ids/ids';
import type { WebhookEndpointOut } from '../resources/webhook.js';
import { sharedApi } from '@gwk/test/support/api/open-api';
import { Authenticator } from '@gwk/network/people/authenticator';
import { OPERATIONS } from '../public-api/operations.js';
import type { TestApi } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';
import { runGwk } from '@gwk/test/support/api/gwk';
import type { FakeEngine } from '@gwk/test/support/api/fake-engine';

/** Every operation and every command that changes the gateway writes exactly one audit entry. */
let api: TestApi;
let client: ApiClient;
let actor: string;
let account: { id: string; name: string };
let instance: string;
beforeAll(async () => {
  api = await sharedApi();
  account = await api.account();
  const made = await api.key(account);
  actor = `key:${made.id}`;
  client = api.client(made.key);
});

let seen = new Set<string>();
/** Returns the new audit entries. */
async function readNewEntries(): Promise<[actor: string, action: string][]> {
  const rows = await api.db.auditEntry.findMany({ orderBy: { id: 'asc' } });
  const fresh = rows.filter(({ id }) => !seen.has(id));
  seen = new Set(rows.map(({ id }) => id));
  return fresh.map((row) => [row.actor, row.action]);
}

const PHONE = '5511987654321';
const at = () => `/v1/instances/${instance}`;
let endpoint: string;
let engine: FakeEngine;
let pairingSession: string;
const hook = () => `/v1/webhook-endpoints/${endpoint}`;

async function createInstance() {
  const made = await client.call<{ id: string }>('POST', '/v1/instances', { body: { name: 'loja' } });
  instance = made.body.id;
  return made;
}
async function createEndpoint() {
  const body = { url: 'https://example.org/hook' };
  const made = await client.call<WebhookEndpointOut>('POST', '/v1/webhook-endpoints', { body });
  endpoint = made.body.id;
  return made;
}
/** Pairs with an engine that shows a QR code. */
async function pair() {
  engine = await api.engine(instance);
  engine.handlers.pair = async ({ session }) => {
    pairingSession = session as string;
    await engine.showQr(session as string, 'qr-1');
    return {};
  };
  return client.call('POST', `${at()}/pairing`);
}
/** The phone asks for its passkey, and then shows a code. */
const authenticator = new Authenticator();
async function answerPasskey() {
  await api.db.pairingSession.updateMany({ data: { passkeys: true } });
  const options = { challenge: 'AAAA', rpId: 'whatsapp.com' } as const;
  const news = { kind: 'passkey', options, expires_in_ms: 60_000 } as const;
  await engine.call('pairing', { session: pairingSession, news });
  engine.handlers.passkey = () => ({});
  return client.call('POST', `${at()}/pairing/passkey`, {
    body: { credential: authenticator.assert(options) },
  });
}
async function confirmPasskey() {
  const news = { kind: 'passkey_code', code: 'ABCD-1234', expires_in_ms: 60_000 } as const;
  await engine.call('pairing', { session: pairingSession, news });
  return client.call('POST', `${at()}/pairing/passkey/confirm`);
}
async function restart() {
  await engine.connect();
  engine.handlers.restart = () => ({});
  return client.call('POST', `${at()}/restart`);
}
async function logout() {
  await engine.stop();
  return client.call('POST', `${at()}/logout`);
}

const BY_KEY: [operation: string, action: string, call: () => Promise<{ status: number }>][] = [
  ['createInstance', 'instance.create', createInstance],
  ['updateInstance', 'instance.update', () => client.call('PATCH', at(), { body: { name: 'filial' } })],
  ['startPairing', 'instance.pair', pair],
  ['answerPasskey', 'instance.answer-passkey', answerPasskey],
  ['confirmPasskey', 'instance.confirm-passkey', confirmPasskey],
  ['restartInstance', 'instance.restart', restart],
  ['logoutInstance', 'instance.logout', logout],
  ['createWebhookEndpoint', 'webhook.create', createEndpoint],
  [
    'updateWebhookEndpoint',
    'webhook.update',
    () => client.call('PATCH', hook(), { body: { enabled: false } }),
  ],
  ['rotateWebhookSecret', 'webhook.rotate-secret', () => client.call('POST', `${hook()}/rotate-secret`)],
  ['deleteWebhookEndpoint', 'webhook.delete', () => client.call('DELETE', hook())],
  ['createOptOut', 'opt_out.create', () => client.call('POST', '/v1/opt-outs', { body: { phone: PHONE } })],
  ['deleteOptOut', 'opt_out.delete', () => client.call('DELETE', `/v1/opt-outs/${PHONE}`)],
  ['deleteInstance', 'instance.delete', () => client.call('DELETE', at())],
];

/** Operations on messages, media and deliveries, which keep their own records. */
const WITHOUT_AUDIT = [
  ...['sendMessage', 'editMessage', 'deleteMessage', 'reactToMessage', 'markRead', 'setPresence'],
  ...['uploadMedia', 'simulateInbound'],
  ...['testWebhookEndpoint', 'retryWebhookDelivery', 'retryFailedWebhookDeliveries'],
];

test('every operation that changes something is listed with or without an audit entry', () => {
  const changing = OPERATIONS.filter(({ method }) => method !== 'GET').map(({ name }) => name);
  expect([...BY_KEY.map(([name]) => name), ...WITHOUT_AUDIT].sort()).toEqual(changing.sort());
});

test.each(BY_KEY)('%s writes one entry: %s', async (_, action, call) => {
  await readNewEntries();
  expect((await call()).status).toBeLessThan(300);
  expect(await readNewEntries()).toEqual([[actor, action]]);
});

const ENCRYPTION_KEYS = () => ({ GWK_ENCRYPTION_KEYS: api.encryptionKeys });
const device = ['--format', 'legacy_list', '--device', 'android', '--status', 'works'];
let key: string;
const BY_COMMAND: [action: string, args: () => string[]][] = [
  ['account.create', () => ['account', 'create', 'acme']],
  ['account.limits', () => ['account', 'limits', 'acme', '--max-instances', '7']],
  ['account.suspend', () => ['account', 'suspend', 'acme']],
  ['account.resume', () => ['account', 'resume', 'acme']],
  ['account.allow-passkeys', () => ['account', 'allow-passkeys', 'acme']],
  ['account.forbid-passkeys', () => ['account', 'forbid-passkeys', 'acme']],
  ['account.allow-namespace', () => ['account', 'allow-namespace', 'acme', 'shop']],
  ['account.forbid-namespace', () => ['account', 'forbid-namespace', 'acme', 'shop']],
  ['key.create', () => ['key', 'create', '--account', 'acme', '--scopes', 'all']],
  ['key.revoke', () => ['key', 'revoke', key]],
  ['policy.set', () => ['policy', 'set', '--account', 'acme', '--json', '{"messages_per_minute":7}']],
  ['status.set', () => ['interactive-status', 'set', ...device]],
  ['network_version.pin', () => ['network-version', 'pin', '2.3000.1044142122']],
  ['network_version.unpin', () => ['network-version', 'unpin']],
  ['encryption.reencrypt', () => ['encryption', 'reencrypt']],
  ['database.restored', () => ['after-restore']],
];

test.each(BY_COMMAND)('a command writes one entry: %s', async (action, args) => {
  await readNewEntries();
  const env = { DATABASE_URL: api.options.databaseUrl, GWK_ACTOR: 'ana', ...ENCRYPTION_KEYS() };
  const { code, json, error } = await runGwk(args(), env);
  expect([code, error]).toEqual([0, '']);
  expect(await readNewEntries()).toEqual([['cli:ana', action]]);
  if (action === 'key.create') key = (json as { id: string }).id;
});

test('the actor of a command comes from the option, the variable or the system user', async () => {
  const env = { DATABASE_URL: api.options.databaseUrl };
  const suspend = ['account', 'suspend', account.name];
  const resume = ['account', 'resume', account.name];
  await readNewEntries();
  await runGwk(['--actor', 'bia@example.org', ...suspend], { ...env, GWK_ACTOR: 'ana' });
  await runGwk(resume, { ...env, GWK_ACTOR: 'ana' });
  await runGwk(suspend, env);
  const [first, second, third] = (await readNewEntries()).map(([by]) => by);
  expect([first, second]).toEqual(['cli:bia@example.org', 'cli:ana']);
  expect(third).toMatch(/^cli:(?!ana|bia)./);
  const refused = await runGwk(['--actor', 'two words', ...resume], env);
  expect([refused.code, refused.error]).toEqual([2, expect.stringContaining('GWK_ACTOR')]);
  expect(await readNewEntries()).toEqual([]);
  const byAna = await runGwk(['audit', '--by', 'cli:ana', '--account', account.name], env);
  expect(byAna.json).toMatchObject([
    { action: 'account.resume', subject: toPublicId('account', account.id) },
  ]);
});
