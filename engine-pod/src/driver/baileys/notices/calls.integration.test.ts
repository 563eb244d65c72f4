import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import {
  numberStage,
  seenMeanwhile,
  until,
  type NumberStage,
} from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
beforeAll(async () => {
  stage = await numberStage();
});
beforeEach(() => {
  const { rows } = stage.number;
  rows.notices.length = 0;
  rows.ignored.length = 0;
  rows.rejectsCalls = false;
  rows.before = () => undefined;
});
afterAll(() => stage.close());

const call = (options: Parameters<NumberStage['ana']['callsNumber']>[1] = {}, by = stage.ana) =>
  by.callsNumber(stage.phone.number, options);
const reported = (id: string) =>
  until(`call ${id}`, () => stage.number.rows.notices.find((notice) => notice.id === id));
const stateOf = async (id: string) => (await stage.network.calls()).find((one) => one.id === id)?.state;

test('reports a call with both ids and the name of its caller', async () => {
  const { ana } = stage;
  const id = await call();
  expect(await reported(id)).toMatchObject({
    kind: 'call',
    from: { id: ana.lidJid, alt: ana.jid, name: 'Ana' },
    video: false,
    group: false,
    chat: null,
    missed: false,
    rejected: false,
  });
  await stage.phone.hasTakenAll();
  expect(await stateOf(id)).toBe('ringing');
});

test('finds the other id of a caller whom the network names by phone number', async () => {
  const { ana } = stage;
  const text = await ana.writes('hello');
  await stage.number.gets(text);
  await ana.behaves({ addressing: 'pn' });
  const id = await call();
  await ana.behaves({ addressing: 'lid' });
  expect(await reported(id)).toMatchObject({ from: { id: ana.jid, alt: ana.lidJid } });
});

test('reports a video call of a group, and a call of a group that does not ring', async () => {
  const group = await stage.network.group('Team', [stage.ana, stage.phone]);
  const ringing = await call({ group, video: true });
  const notice = await call({ group, notice: true });
  expect(await reported(ringing)).toMatchObject({ video: true, group: true, chat: group });
  stage.number.rows.rejectsCalls = true;
  expect(await reported(notice)).toMatchObject({ video: false, group: true, chat: group, rejected: false });
});

test('reports nothing when a call ends or is answered on the phone', async () => {
  const id = await call();
  await reported(id);
  await stage.network.endCall(id, 'accepted_elsewhere');
  await stage.phone.hasTakenAll();
  expect(stage.number.rows.notices).toHaveLength(1);
});

describe('acknowledges a call after it is stored:', () => {
  const countMail = async () => {
    const { companions } = await stage.network.call('account', { number: stage.phone.number });
    return companions.map(({ mail }) => mail);
  };

  test('an engine that ends before leaves it to the next one, as a missed call', async () => {
    const { number } = stage;
    number.rows.rejectsCalls = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    number.rows.before = (what) => (what === 'notice' ? promise : undefined);
    const id = await call();
    await until('the rejection', async () => ((await stateOf(id)) === 'rejected' ? true : undefined));
    expect(await seenMeanwhile(stage, countMail)).not.toContainEqual([0]);
    number.rows.before = () => undefined;
    await number.replace();
    expect(await reported(id)).toMatchObject({ missed: true, rejected: false });
    await stage.phone.hasTakenAll();
    resolve();
  });

  test('what the API refuses is acknowledged, because it would be refused again', async () => {
    const { rows } = stage.number;
    rows.before = () => {
      throw new InternalApiRefusal('invalid', null);
    };
    await call();
    await stage.phone.hasTakenAll();
    expect(rows.ignored).toEqual(['refused']);
  });

  test('an API of an earlier release gets nothing', async () => {
    const { rows } = stage.number;
    rows.rejectsCalls = undefined;
    await call();
    await stage.phone.hasTakenAll();
    expect(rows.notices).toEqual([]);
  });
});

test('a call while the instance was offline is a missed call with its own time, and is not rejected', async () => {
  const { number, network, phone } = stage;
  number.rows.rejectsCalls = true;
  await number.driver.close();
  const id = await call();
  const at = Date.now();
  number.events.length = 0;
  number.connect();
  await number.happens('opened');
  const notice = await reported(id);
  expect(notice).toMatchObject({ missed: true, rejected: false });
  expect(Date.parse(notice.at)).toBeLessThanOrEqual(at);
  await phone.hasTakenAll();
  expect(await stateOf(id)).toBe('ringing');
  expect((await network.status()).violations).toEqual([]);
});

describe('rejects calls if the policy says so:', () => {
  beforeEach(() => (stage.number.rows.rejectsCalls = true));

  test.each(['lid', 'pn'] as const)('of a caller who is addressed by %s', async (addressing) => {
    await stage.ana.behaves({ addressing });
    const id = await call({ video: true });
    await until('the rejection', async () => ((await stateOf(id)) === 'rejected' ? true : undefined));
    expect(await reported(id)).toMatchObject({ rejected: true, missed: false });
    await stage.ana.behaves({ addressing: 'lid' });
  });

  test('before the API has stored them', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    stage.number.rows.before = (what) => (what === 'notice' ? promise : undefined);
    const id = await call();
    await until('the rejection', async () => ((await stateOf(id)) === 'rejected' ? true : undefined));
    resolve();
    expect(await reported(id)).toMatchObject({ rejected: true });
  });
});

test('reports 20 calls of one caller in a minute, and counts the others', async () => {
  const eve = await stage.network.contact('5511900000066', { name: 'Eve' });
  for (let at = 0; at < 23; at++) await call({}, eve);
  await stage.phone.hasTakenAll();
  const { rows } = stage.number;
  expect(rows.notices).toHaveLength(20);
  expect(rows.ignored).toEqual(Array(3).fill('too_many_calls'));
  expect(await reported(await call())).toMatchObject({ kind: 'call' });
});

test('reports 20 missed calls of one caller, and counts the others', async () => {
  const { number, phone, network } = stage;
  const eve = await network.contact('5511900000077', { name: 'Eve' });
  await number.driver.close();
  for (let at = 0; at < 23; at++) await call({}, eve);
  number.events.length = 0;
  number.connect();
  await number.happens('opened');
  await phone.hasTakenAll();
  expect(number.rows.notices.map((notice) => 'missed' in notice && notice.missed)).toEqual(
    Array(20).fill(true),
  );
  expect(number.rows.ignored).toEqual(Array(3).fill('too_many_calls'));
});

test('keeps to the protocol', async () => {
  const { violations, unhandled } = await stage.network.status();
  expect({ violations, unhandled }).toEqual({ violations: [], unhandled: [] });
});
