import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import { OperatorClient } from '@gwk/core/protocol/internal-client';
import type { InstanceOut } from '../resources/instance.js';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

let api: TestApi;
let operator: OperatorClient;
let account: TestAccount;
let client: ApiClient;
let keyId: string;

beforeAll(async () => {
  api = await sharedApi();
  const { internalPort } = api.running;
  const baseUrl = `http://127.0.0.1:${internalPort}`;
  operator = new OperatorClient({ baseUrl, token: api.operatorToken, timeoutMs: 120_000 });
});
beforeEach(async () => {
  account = await api.account();
  const made = await api.key(account);
  keyId = made.id;
  client = api.client(made.key);
});
afterAll(async () => {
  operator.close();
});

/** Returns the entries of a subject, oldest first. */
async function readEntries(subject: string): Promise<[string, string, unknown][]> {
  const rows = await api.db.auditEntry.findMany({ where: { subject }, orderBy: { id: 'asc' } });
  return rows.map(({ actor, action, detail }) => [actor, action, detail]);
}

const create = async (name: string): Promise<InstanceOut> =>
  (await client.call<InstanceOut>('POST', '/v1/instances', { body: { name, kind: 'sandbox' } })).body;

describe('the audit log of an instance changed with a key', () => {
  test('records the key and the changed fields, from creation to deletion', async () => {
    const { id } = await create('one');
    const path = `/v1/instances/${id}`;
    await client.call('PATCH', path, { body: { name: 'two', policy: { messages_per_minute: 7 } } });
    await client.call('PATCH', path, { body: { name: 'two' } });
    await client.call('DELETE', path);
    const by = `key:${keyId}`;
    expect(await readEntries(fromPublicId('instance', id)!)).toEqual([
      [by, 'instance.create', { name: 'one', kind: 'sandbox' }],
      [by, 'instance.update', { name: 'two', policy: { messages_per_minute: 7 } }],
      [by, 'instance.delete', {}],
    ]);
  });

  test('records one deletion when several requests delete at once', async () => {
    const { id } = await create('one');
    await Promise.all([1, 2, 3].map(() => client.call('DELETE', `/v1/instances/${id}`)));
    const ends = (await readEntries(fromPublicId('instance', id)!)).filter(
      ([, action]) => action === 'instance.delete',
    );
    expect(ends).toHaveLength(1);
  });

  test('records no refused change', async () => {
    const { id } = await create('one');
    await client.call('PATCH', `/v1/instances/${id}`, { body: { policy: { messages_per_minute: -1 } } });
    expect(await readEntries(fromPublicId('instance', id)!)).toHaveLength(1);
  });
});

describe('the audit log of an instance changed with kubectl', () => {
  const resource = (
    spec: Partial<InstanceResource['spec']>,
    generation: number,
    uid: string,
  ): InstanceResource => ({
    apiVersion: 'gwk.dev/v1',
    kind: 'Instance',
    metadata: {
      name: `loja-${uid.slice(-12)}`,
      namespace: 'default',
      uid,
      generation,
      resourceVersion: String(generation),
      creationTimestamp: new Date().toISOString(),
    },
    spec: {
      account: account.name,
      kind: 'sandbox',
      interactiveMode: 'text',
      onOtherAccount: 'refuse',
      suspended: false,
      ...spec,
    },
  });

  test('records the cluster as actor, with the resource and the changed fields', async () => {
    const uid = newUuid();
    const first = await operator.call('project', { resource: resource({}, 1, uid) });
    if (!first.accepted) throw new Error(first.reason);
    await operator.call('project', { resource: resource({}, 1, uid) });
    await operator.call('project', { resource: resource({ suspended: true, displayName: 'sul' }, 2, uid) });
    await operator.call('remove', { uid });
    await operator.call('remove', { uid });
    const place = { namespace: 'default', resource: `loja-${uid.slice(-12)}` };
    expect(await readEntries(first.facts.id)).toEqual([
      ['cluster', 'instance.create', { ...place, name: place.resource, kind: 'sandbox' }],
      ['cluster', 'instance.update', { ...place, name: 'sul', suspended: true }],
      ['cluster', 'instance.delete', { ...place }],
    ]);
  });

  test('separates a change with kubectl from a later one with a key', async () => {
    const { id } = await create('one');
    const uuid = fromPublicId('instance', id)!;
    api.cluster.edit(id.replace('_', '-'), { suspended: true });
    await client.call('PATCH', `/v1/instances/${id}`, { body: { name: 'two' } });
    const place = { namespace: 'default', resource: id.replace('_', '-') };
    expect((await readEntries(uuid)).slice(1)).toEqual([
      ['cluster', 'instance.update', { ...place, suspended: true }],
      [`key:${keyId}`, 'instance.update', { name: 'two' }],
    ]);
  });
});

test('the audit log contains no secrets and no message content', async () => {
  const { id } = await create('one');
  const made = await client.call<{ id: string; secret: string }>('POST', '/v1/webhook-endpoints', {
    body: { url: 'https://user-token.example.org/hook/s3cret', description: 'd3scription' },
  });
  await client.call('POST', `/v1/webhook-endpoints/${made.body.id}/rotate-secret`);
  await client.call('POST', '/v1/messages', {
    body: { instance_id: id, to: '5511987654321', type: 'text', text: { body: 'c0ntent' } },
  });
  const rows = await api.db.auditEntry.findMany({ where: { accountId: account.id } });
  const text = JSON.stringify(rows);
  expect(rows.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['webhook.create', 'webhook.rotate-secret']),
  );
  for (const word of ['s3cret', 'c0ntent', made.body.secret]) expect(text).not.toContain(word);
});
