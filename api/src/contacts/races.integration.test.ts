import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { MessageOut } from '@gwk/core/resources/message';
import { people } from '@gwk/test/support/api/acceptance';
import type { InstanceOut } from '../resources/instance.js';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient, Answer } from '@gwk/test/support/api/client';

/** Opt-outs and limits concurrent with accepts, at two replicas of the API. */
let api: TestApi;
let account: TestAccount;
let clients: [ApiClient, ApiClient];
beforeAll(async () => {
  api = await sharedApi();
});
let otherPort: number;
beforeAll(async () => {
  otherPort = (await api.addReplica()).port;
});
/** A new account each round, because an account has at most three sandboxes. */
async function newAccount(): Promise<void> {
  account = await api.account();
  const { key } = await api.key(account);
  clients = [api.client(key), api.client(key, otherPort)];
}
beforeEach(newAccount);

let phones = 0;
const someone = () => `55119${String(70_000_000 + phones++)}`;
const newSandbox = async (policy: object = {}) => {
  const body = { name: newUuid(), kind: 'sandbox' };
  const { id } = (await clients[0].call<InstanceOut>('POST', '/v1/instances', { body })).body;
  await api.db.instance.update({ where: { id: fromPublicId('instance', id)! }, data: { policy } });
  return id;
};
const send = (by: ApiClient, instance: string, to: string) =>
  by.call<MessageOut>('POST', '/v1/messages', {
    body: { instance_id: instance, to, type: 'text', text: { body: newUuid() } },
  });
const readOutcome = ({ status, body }: Answer<unknown>) =>
  status === 202 ? 'accepted' : ((body as { type?: string }).type?.split('/').at(-1) ?? String(status));
const NO_LIMITS = { new_contacts_per_day: 100_000, mass_block: { max_contacts: 10_000 } };

/** Expects that every accepted message to the contact has failed and none is queued. */
async function expectAllFailed(phone: string): Promise<void> {
  const { contactId } = await api.db.contactName.findFirstOrThrow({
    where: { accountId: account.id, name: phone },
  });
  const conversations = await api.db.conversation.findMany({ where: { contactId } });
  const ids = conversations.map(({ id }) => id);
  const rows = await api.db.message.findMany({
    where: { conversationId: { in: ids }, direction: 'outbound' },
  });
  expect(rows.filter(({ errorCode }) => errorCode !== 'opted_out')).toEqual([]);
  expect(await api.db.outboxEntry.count({ where: { conversationId: { in: ids } } })).toBe(0);
  const failed = await api.db.event.count({
    where: { type: 'message.failed', instanceId: { in: conversations.map(({ instanceId }) => instanceId) } },
  });
  expect(failed).toBe(rows.length);
}

test('an accept concurrent with an opt-out by API is refused, or fails with the opt-out', async () => {
  for (let round = 0; round < 8; round++) {
    await newAccount();
    const instances = [await newSandbox(NO_LIMITS), await newSandbox(NO_LIMITS), await newSandbox(NO_LIMITS)];
    const phone = someone();
    // Odd rounds: the contact is known, but has no conversation with some of the instances yet.
    if (round % 2) await send(clients[0], instances[0]!, phone);
    const sends = Array.from({ length: 45 }, (_, i) => send(clients[i % 2]!, instances[i % 3]!, phone));
    const optOut = clients[1].call('POST', '/v1/opt-outs', { body: { phone } });
    const outcomes = (await Promise.all(sends)).map(readOutcome);
    expect((await optOut).status).toBe(201);
    expect(new Set([...outcomes, 'accepted', 'contact-opted-out'])).toEqual(
      new Set(['accepted', 'contact-opted-out']),
    );
    await expectAllFailed(phone);
    expect(readOutcome(await send(clients[0], instances[0]!, phone))).toBe('contact-opted-out');
  }
});

test('an accept concurrent with an opt-out by keyword on two instances is refused, or fails with it', async () => {
  for (let round = 0; round < 6; round++) {
    await newAccount();
    const instances = [await newSandbox(NO_LIMITS), await newSandbox(NO_LIMITS)];
    const phone = someone();
    const sends = Array.from({ length: 40 }, (_, i) =>
      send(clients[i % 2]!, instances[(i >> 1) % 2]!, phone),
    );
    const words = instances.map((instance, i) =>
      clients[i]!.call('POST', `/v1/instances/${instance}/sandbox/inbound`, {
        body: { from: phone, text: 'SAIR' },
      }),
    );
    const outcomes = (await Promise.all(sends)).map(readOutcome);
    expect((await Promise.all(words)).map(({ status }) => status)).toEqual([200, 200]);
    expect(outcomes.filter((outcome) => !['accepted', 'contact-opted-out'].includes(outcome))).toEqual([]);
    await expectAllFailed(phone);
  }
});

test('concurrent opt-outs and removals at two replicas leave one opt-out or none', async () => {
  const phone = someone();
  const calls = Array.from({ length: 40 }, (_, i) =>
    i % 2
      ? clients[(i >> 1) % 2]!.call('POST', '/v1/opt-outs', { body: { phone } })
      : clients[(i >> 1) % 2]!.call('DELETE', `/v1/opt-outs/${phone}`),
  );
  const statuses = (await Promise.all(calls)).map(({ status }) => status);
  expect(statuses.filter((status) => ![200, 201, 204, 404].includes(status))).toEqual([]);
  const made = statuses.filter((status) => status === 201).length;
  const removed = statuses.filter((status) => status === 204).length;
  expect(made - removed).toBe(await api.db.optOut.count({ where: { accountId: account.id } }));
  expect(await api.db.contactName.count({ where: { accountId: account.id } })).toBe(1);
});

test('300 concurrent sends to new contacts at two replicas accept exactly the daily limit', async () => {
  const instance = await newSandbox({ new_contacts_per_day: 73, mass_block: { max_contacts: 10_000 } });
  const outcomes = await Promise.all(
    people(300).map((to, i) => send(clients[i % 2]!, instance, to).then(readOutcome)),
  );
  const tally = Object.groupBy(outcomes, (outcome) => outcome);
  expect(Object.keys(tally).sort()).toEqual(['accepted', 'policy-new-contacts-limit']);
  expect(tally['accepted']).toHaveLength(73);
  const where = { instanceId: fromPublicId('instance', instance)! };
  expect(await api.db.conversation.count({ where: { ...where, firstSentAt: { not: null } } })).toBe(73);
  expect(await api.db.message.count({ where })).toBe(73);
});
