import type { EventOut } from '@gwk/core/resources/event';
import type { Person } from '@gwk/network/control/client';
import { openInstanceStage, type InstanceStage } from '../../support/instance/stage.js';
import { until } from '../../support/wait.js';

/** A number that was away is back without a new pairing, and nothing that was sent meanwhile is lost. */
let stage: InstanceStage;
let ana: Person;
beforeAll(async () => {
  stage = await openInstanceStage('returns');
  ana = stage.contacts[0]!;
});
afterAll(() => stage?.close());

const eventsOf = (type: string): Promise<EventOut[]> =>
  stage.customer.client.events({ instance_id: stage.id, type });
const sends = (text: string) => stage.customer.client.acceptedText(stage.id, ana.number, text);

test('after its engine was killed', async () => {
  const { pid } = await stage.gateway.engine();
  process.kill(pid, 'SIGKILL');
  await ana.writes('are you there?', { to: stage.phone.number });
  await sends('here again');
  await ana.receives('here again');
  await until(async () => (await eventsOf('message.received')).length === 1, { what: 'it is received' });
  expect((await stage.network.receipts()).filter(({ type }) => type === 'retry')).toEqual([]);
  expect(await eventsOf('instance.paired')).toHaveLength(1);
});

test('when the network is back: what was sent meanwhile leaves', async () => {
  const { network, customer } = stage;
  await network.outage(true, { cut: true });
  await stage.untilState('disconnected');
  const { id, status } = await sends('while it is out');
  expect(status).toBe('queued');
  await network.outage(false);
  await until(async () => (await customer.client.message(id)).status === 'delivered', {
    what: 'it is delivered',
  });
  expect((await eventsOf('instance.disconnected')).length).toBeGreaterThan(0);
  expect((await eventsOf('instance.connected')).length).toBeGreaterThan(1);
});

test('when it is blocked no more: banned with its end, and connected again after it', async () => {
  const { network, phone } = stage;
  const before = (await eventsOf('instance.connected')).length;
  await network.ban(phone.number, { minutes: 0.05 });
  // The state may be over before it is seen; what is told of it stays.
  const banned = await until(async () => (await eventsOf('instance.banned'))[0]?.data, {
    what: 'the ban is told',
  });
  expect(banned).toMatchObject({ code: '101', expires_at: expect.any(String) as string });
  await until(async () => (await eventsOf('instance.connected')).length > before, { what: 'it is back' });
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(banned['expires_at'] as string));
  expect(await eventsOf('instance.paired')).toHaveLength(1);
});

test('and the network has nothing to complain of', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});
