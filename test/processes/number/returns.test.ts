import type { EventOut } from '@gwk/api/resources/event';
import type { Person } from '@gwk/network/control/client';
import { openInstanceStage, type InstanceStage } from '../../support/instance/stage.js';
import { until } from '../../support/wait.js';

/** An instance that was offline reconnects without a new pairing, and no message is lost. */
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

test('reconnects after its engine was killed', async () => {
  const { pid } = await stage.gateway.engine();
  process.kill(pid, 'SIGKILL');
  await ana.writes('are you there?', { to: stage.phone.number });
  await sends('here again');
  await ana.receives('here again');
  await until(async () => (await eventsOf('message.received')).length === 1, {
    what: 'the message is received',
  });
  expect((await stage.network.receipts()).filter(({ type }) => type === 'retry')).toEqual([]);
  expect(await eventsOf('instance.paired')).toHaveLength(1);
});

test('sends queued messages after a network outage', async () => {
  const { network, customer } = stage;
  await network.outage(true, { cut: true });
  await stage.untilState('disconnected');
  const { id, status } = await sends('during the outage');
  expect(status).toBe('queued');
  await network.outage(false);
  await until(async () => (await customer.client.message(id)).status === 'delivered', {
    what: 'the message is delivered',
  });
  expect((await eventsOf('instance.disconnected')).length).toBeGreaterThan(0);
  expect((await eventsOf('instance.connected')).length).toBeGreaterThan(1);
});

test('reports a ban with its end, and reconnects after it', async () => {
  const { network, phone } = stage;
  const before = (await eventsOf('instance.connected')).length;
  await network.ban(phone.number, { minutes: 0.05 });
  // The state may end before the test sees it. The event stays.
  const banned = await until(async () => (await eventsOf('instance.banned'))[0]?.data, {
    what: 'the ban is reported',
  });
  expect(banned).toMatchObject({ code: '101', expires_at: expect.any(String) as string });
  await until(async () => (await eventsOf('instance.connected')).length > before, {
    what: 'the instance is connected again',
  });
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(banned['expires_at'] as string));
  expect(await eventsOf('instance.paired')).toHaveLength(1);
});

test('the network saw no protocol violation', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});
