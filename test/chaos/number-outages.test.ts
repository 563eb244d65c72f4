import { writeAsPeople, listChats } from '../support/instance/conversations.js';
import { openInstanceStage, type InstanceStage } from '../support/instance/stage.js';
import { findInboundFaults } from '../support/instance/check.js';
import { report } from '../support/gateway/check-traffic.js';
import { pause, realTime, until } from '../support/wait.js';

/** Parts fail and return while the phone number stays connected, or reconnects without losing a message. */
let stage: InstanceStage;
beforeAll(async () => {
  stage = await openInstanceStage('outages', {
    contacts: 20,
    groups: 2,
    gateway: { ownPostgres: true },
  });
});
afterAll(() => stage?.close());

/** Connections of the phone number that the network has seen. */
const connections = async () => {
  const stanzas = await stage.network.stanzas({ number: stage.phone.number });
  return [...new Set(stanzas.map(({ connection }) => connection))];
};
const received = () => stage.customer.client.events({ instance_id: stage.id, type: 'message.received' });

/** Contacts write while `meanwhile` runs. Then every message is reported once and in order. */
async function expectAllReported(
  name: string,
  perChat: number,
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  const [written] = await Promise.all([writeAsPeople(stage, { name, perChat, perSecond: 10 }), meanwhile()]);
  const count = [...written.values()].flat().length;
  const isReported = async () =>
    (await received()).filter(({ data }) => String(data['text']).startsWith(name)).length >= count;
  await until(isReported, { what: 'all messages are reported', everyMs: 500 });
  const events = await received();
  expect(listChats(stage).flatMap((chat) => findInboundFaults({ written, events }, chat))).toEqual([]);
}

test('a restart of Postgres closes no socket, and inbound messages are reported once and in order', async () => {
  const before = await connections();
  await expectAllReported('restart', 2, async () => {
    await stage.gateway.postgres.kill('SIGINT');
    await stage.gateway.postgres.start();
  });
  expect(await connections()).toEqual(before);
});

const OUTAGE_MS = 30_000;

test('an API outage of 30 s closes no socket, and inbound messages are reported once and in order', async () => {
  const { gateway, customer, id } = stage;
  const before = await connections();
  await expectAllReported('API outage', 3, async () => {
    // A stopped process keeps the outage exact: the start time of a program is not measured here.
    await gateway.apis[0]!.kill('SIGSTOP');
    await pause(OUTAGE_MS);
    await gateway.apis[0]!.kill('SIGCONT');
  });
  expect(await connections()).toEqual(before);
  expect(await customer.client.events({ instance_id: id, type: 'instance.disconnected' })).toEqual([]);
});

const BACKLOG = 2_000;
const AN_HOUR_MS = 3_600_000;

test('reports 2,000 messages of an hour offline once, in order, with their times', async () => {
  const { gateway } = stage;
  await gateway.operator.stop();
  await until(() => !isOnline(), { what: 'the instance is offline' });
  const chats = listChats(stage);
  const from = Date.now() - AN_HOUR_MS;
  const written = await writeAsPeople(stage, {
    name: 'backlog',
    perChat: Math.ceil(BACKLOG / chats.length),
    stampedAt: (count) => new Date(from + (count * AN_HOUR_MS) / BACKLOG),
  });
  const all = [...written.values()].flat();
  expect(all.length).toBeGreaterThanOrEqual(BACKLOG);

  const started = Date.now();
  await gateway.operator.start();
  await until(() => isOnline(), { what: 'the instance is online' });
  const back = Date.now();
  await stage.phone.hasTakenAll({ limitMs: realTime(300_000) });
  const taken = Date.now();
  const ids = new Set(all.map(({ id }) => id));
  const backlog = async () =>
    (await received()).filter(({ data }) => ids.has(data['wa_message_id'] as string));
  await until(async () => (await backlog()).length >= all.length, {
    what: 'all messages are reported',
    everyMs: 1000,
    timeoutMs: realTime(300_000),
  });
  report('a backlog of an hour', {
    messages: all.length,
    'seconds until connected': (back - started) / 1000,
    'seconds until all was received': (taken - back) / 1000,
    'seconds until all was reported': (Date.now() - back) / 1000,
  });
  const events = await backlog();
  expect(chats.flatMap((chat) => findInboundFaults({ written, events }, chat))).toEqual([]);
  for (const chat of chats) {
    const here = new Set(written.get(chat.to)!.map(({ id }) => id));
    const times = events
      .filter(({ data }) => here.has(data['wa_message_id'] as string))
      .sort((one, other) => (one.id < other.id ? -1 : 1))
      .map(({ data }) => Date.parse(data['timestamp'] as string));
    expect(times).toEqual([...times].sort((one, other) => one - other));
    expect(times[0]).toBeLessThan(from + AN_HOUR_MS / 2);
  }
  expect(await stage.network.receipts({ from: stage.phone.number, type: 'retry' })).toEqual([]);
});

const isOnline = (): boolean =>
  [...stage.running.network.world.people.need(stage.phone.number).companions.values()].some(
    ({ active }) => active,
  );
