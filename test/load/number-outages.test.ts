import { peopleWrite, roomsOf } from '../support/number/conversations.js';
import { openNumberStage, type NumberStage } from '../support/number/stage.js';
import { faultsOfInbound } from '../support/number/verdict.js';
import { report } from '../support/gateway/verdict.js';
import { pause, realTime, until } from '../support/wait.js';

/** What is away comes back, and the number has not left the network, or has missed nothing. */
let stage: NumberStage;
beforeAll(async () => {
  stage = await openNumberStage('outages', {
    contacts: 20,
    groups: 2,
    gateway: { ownPostgres: true },
  });
});
afterAll(() => stage?.close());

/** Each connection of the number that the network has seen. */
const connections = async () => {
  const stanzas = await stage.network.stanzas({ number: stage.phone.number });
  return [...new Set(stanzas.map(({ connection }) => connection))];
};
const received = () => stage.customer.client.events({ instance_id: stage.id, type: 'message.received' });

/** Everybody writes so much, and `meanwhile` happens; in the end all of it is told, once and in order. */
async function allIsTold(name: string, perRoom: number, meanwhile: () => Promise<unknown>): Promise<void> {
  const [said] = await Promise.all([peopleWrite(stage, { name, perRoom, perSecond: 10 }), meanwhile()]);
  const count = [...said.values()].flat().length;
  const told = async () =>
    (await received()).filter(({ data }) => String(data['text']).startsWith(name)).length >= count;
  await until(told, { what: 'all of it is told', everyMs: 500 });
  const events = await received();
  expect(roomsOf(stage).flatMap((room) => faultsOfInbound({ said, events }, room))).toEqual([]);
}

test('a restart of Postgres closes no socket, and what comes meanwhile is told once and in order', async () => {
  const before = await connections();
  await allIsTold('restart', 2, async () => {
    await stage.gateway.postgres.kill('SIGINT');
    await stage.gateway.postgres.start();
  });
  expect(await connections()).toEqual(before);
});

const AWAY_MS = 30_000;

test('an API that is away for 30 s closes no socket, and what comes meanwhile is told once and in order', async () => {
  const { gateway, customer, id } = stage;
  const before = await connections();
  await allIsTold('API away', 3, async () => {
    // Exactly so long: how long a program takes to start is not what is asked.
    await gateway.apis[0]!.kill('SIGSTOP');
    await pause(AWAY_MS);
    await gateway.apis[0]!.kill('SIGCONT');
  });
  expect(await connections()).toEqual(before);
  expect(await customer.client.events({ instance_id: id, type: 'instance.disconnected' })).toEqual([]);
});

const BACKLOG = 2_000;
const AN_HOUR_MS = 3_600_000;

test('2,000 messages of an hour in which the number was away are told once, in order, with their times', async () => {
  const { gateway } = stage;
  await gateway.operator.stop();
  await until(() => !isOnline(), { what: 'the number is away' });
  const rooms = roomsOf(stage);
  const from = Date.now() - AN_HOUR_MS;
  const said = await peopleWrite(stage, {
    name: 'backlog',
    perRoom: Math.ceil(BACKLOG / rooms.length),
    stampedAt: (count) => new Date(from + (count * AN_HOUR_MS) / BACKLOG),
  });
  const all = [...said.values()].flat();
  expect(all.length).toBeGreaterThanOrEqual(BACKLOG);

  const started = Date.now();
  await gateway.operator.start();
  await until(() => isOnline(), { what: 'the number is back' });
  const back = Date.now();
  await stage.phone.hasTakenAll({ limitMs: realTime(300_000) });
  const taken = Date.now();
  const ids = new Set(all.map(({ id }) => id));
  const backlog = async () =>
    (await received()).filter(({ data }) => ids.has(data['wa_message_id'] as string));
  await until(async () => (await backlog()).length >= all.length, {
    what: 'all of it is told',
    everyMs: 1000,
    timeoutMs: realTime(300_000),
  });
  report('a backlog of an hour', {
    messages: all.length,
    'seconds until connected': (back - started) / 1000,
    'seconds until all was taken': (taken - back) / 1000,
    'seconds until all was told': (Date.now() - back) / 1000,
  });
  const events = await backlog();
  expect(rooms.flatMap((room) => faultsOfInbound({ said, events }, room))).toEqual([]);
  for (const room of rooms) {
    const here = new Set(said.get(room.to)!.map(({ id }) => id));
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
