import type { PolicyOut } from '../policy/policy.js';
import type { InstanceOut } from '../resources/instance.js';
import { fromPublicId } from '@gwk/core/ids/ids';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

let api: TestApi;
let account: TestAccount;
let client: ApiClient;

beforeAll(async () => {
  api = await openApi({ settings: { GWK_API_POLICY: '{"menu_ttl_hours":48,"messages_per_minute":90}' } });
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
});
afterAll(() => api.stop());

const create = async (kind: string): Promise<string> =>
  (await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: kind, kind } })).body.id;
const readPolicy = async (id: string) => client.call<PolicyOut>('GET', `/v1/instances/${id}/policy`);

test('has the default policy, with the limit of new contacts while warming up', async () => {
  const { status, body } = await readPolicy(await create('sandbox'));
  expect(status).toBe(200);
  expect(body).toEqual({
    active_hours: null,
    mass_block: { max_contacts: 30, window_minutes: 60 },
    opt_out: {
      enabled: true,
      keywords: ['SAIR', 'PARAR', 'STOP'],
      resume_keywords: ['VOLTAR', 'START'],
    },
    menu_ttl_hours: 48,
    new_contacts_per_day: 50,
    messages_per_minute: 90,
    reject_calls: { enabled: false, text: null },
    sources: {
      active_hours: 'environment',
      mass_block: 'environment',
      opt_out: 'environment',
      menu_ttl_hours: 'environment',
      new_contacts_per_day: 'environment',
      messages_per_minute: 'environment',
      reject_calls: 'environment',
    },
  });
});

test('merges the levels value by value, and names the source of each', async () => {
  const id = await create('web');
  await api.db.account.update({
    where: { id: account.id },
    data: { policy: { menu_ttl_hours: 12, mass_block: { max_contacts: 5 } } },
  });
  const policy = { mass_block: { window_minutes: 10 }, new_contacts_per_day: 0 };
  await client.call('PATCH', `/v1/instances/${id}`, { body: { policy } });
  const { body } = await readPolicy(id);
  expect(body).toMatchObject({
    mass_block: { max_contacts: 30, window_minutes: 10 },
    menu_ttl_hours: 12,
    new_contacts_per_day: 0,
    messages_per_minute: 90,
    reject_calls: { enabled: false, text: null },
    sources: {
      active_hours: 'environment',
      mass_block: 'instance',
      menu_ttl_hours: 'account',
      new_contacts_per_day: 'instance',
      messages_per_minute: 'environment',
      reject_calls: 'environment',
    },
  });
});

test('an empty policy resets the instance to the account default', async () => {
  const id = await create('web');
  await client.call('PATCH', `/v1/instances/${id}`, { body: { policy: { menu_ttl_hours: 1 } } });
  await client.call('PATCH', `/v1/instances/${id}`, { body: { policy: {} } });
  const { body } = await readPolicy(id);
  expect([body.menu_ttl_hours, body.sources.menu_ttl_hours]).toEqual([48, 'environment']);
});

test('the audit log has the length of the text for callers, not the text', async () => {
  const id = await create('web');
  const policy = { reject_calls: { enabled: true, text: 'Please write to us.' }, menu_ttl_hours: 1 };
  await client.call('PATCH', `/v1/instances/${id}`, { body: { policy } });
  const subject = fromPublicId('instance', id)!;
  const entry = await api.db.auditEntry.findFirstOrThrow({ where: { subject, action: 'instance.update' } });
  expect(entry.detail).toEqual({
    policy: { reject_calls: { enabled: true, text_length: 19 }, menu_ttl_hours: 1 },
  });
});

test('the warm-up ends 14 days after the first pairing', async () => {
  const id = await create('web');
  const firstPairedAt = new Date(Date.now() - 15 * 86_400_000);
  await api.db.instance.update({ where: { id: fromPublicId('instance', id)! }, data: { firstPairedAt } });
  expect((await readPolicy(id)).body.new_contacts_per_day).toBe(250);
});

test('needs instances:read, and answers 404 to other accounts', async () => {
  const id = await create('web');
  const other = await api.clientOf(account, { scopes: ['messages:send'] });
  expect((await other.call('GET', `/v1/instances/${id}/policy`)).status).toBe(403);
  const foreign = await api.clientOf(await api.account());
  expect((await foreign.call('GET', `/v1/instances/${id}/policy`)).status).toBe(404);
});

test('a change is answered once the engine has the new policy', async () => {
  const id = await create('web');
  const engine = await api.engine(id);
  const steps: string[] = [];
  engine.handlers.renew = async () => {
    const { reject_calls } = await engine.call('renew', { connected: false });
    steps.push(`the engine rejects calls: ${reject_calls}`);
  };
  const policy = { reject_calls: { enabled: true } };
  await client.call('PATCH', `/v1/instances/${id}`, { body: { policy } });
  expect([...steps, 'answered']).toEqual(['the engine rejects calls: true', 'answered']);
});
