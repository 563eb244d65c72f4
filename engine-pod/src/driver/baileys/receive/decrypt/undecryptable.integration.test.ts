import { node, seconds } from '@gwk/network/wire/nodes';
import { deliver } from '@gwk/network/post/mail';
import {
  NEVER_ABORTED,
  seenMeanwhile,
  strangerStage,
  until,
  type NumberStage,
} from '@gwk/test/support/engine/simulated-instance';

/** Undecryptable messages: from contacts with a broken session, and from strangers who send anything. */
let stage: Awaited<ReturnType<typeof strangerStage>>;
let eve: NumberStage['ana'];
let group: string;
beforeAll(async () => {
  stage = await strangerStage();
  ({ eve, group } = stage);
});
afterEach(() => stage.phone.behaves({ answersDevices: true }));
afterAll(() => stage.close());

/** Fails however often it is sent. */
const NEVER = { garbled: 99 };
const AT_FIRST = { garbled: 1 };

const arrivals = (id: string) =>
  stage.number.rows.inbound.filter(({ wa_message_id }) => wa_message_id === id);
const requests = async (id: string) => (await stage.network.receipts({ id, type: 'retry' })).length;
const askedOfPhone = (): string[] =>
  stage.running.network.world.inbox
    .find(({ to, from, device }) => to === stage.phone.number && from === to && device === 0)
    .flatMap(({ message }) =>
      (message?.protocolMessage?.peerDataOperationRequestMessage?.placeholderMessageResendRequest ?? []).map(
        ({ messageKey }) => messageKey?.id ?? '',
      ),
    );

test('of a stranger do not delay others', async () => {
  const { number, ana, phone } = stage;
  const texts = Array.from({ length: 10 }, (_, n) => `between garbage ${n}`);
  const garbage: string[] = [];
  for (const text of texts) {
    garbage.push(await eve.writes('garbage', { to: phone.number, options: NEVER }));
    await ana.writes(text, { to: phone.number });
  }
  // Stock Baileys asks the phone first and handles nothing else meanwhile.
  const delivered = () => texts.every((text) => number.rows.inbound.some((message) => message.text === text));
  await until('all between', () => delivered() || undefined);
  for (const id of garbage)
    await until('its sender is asked', async () => (await requests(id)) > 0 || undefined);
  for (const id of garbage) expect(askedOfPhone()).not.toContain(id);
  for (const id of garbage) await number.gets(id);
  for (const id of garbage) expect(askedOfPhone()).toContain(id);
});

describe.each([
  ['of a contact', () => stage.phone.number],
  ['in a group', () => group],
])('a message %s', (_, to) => {
  test('are resent and delivered once; so are those that only the phone can decrypt', async () => {
    const { number, ana } = stage;
    const id = await ana.writes('sent again', { to: to(), options: AT_FIRST });
    const other = await ana.writes('on the phone', { to: to(), options: NEVER });
    // The sender is asked while the clock is stopped. Once the phone has sent it, nobody is asked.
    await until('five requests', async () => (await requests(other)) === 5 || undefined);
    expect(askedOfPhone()).not.toContain(other);
    expect(await number.gets(id)).toMatchObject({ text: 'sent again', from_name: 'Ana' });
    expect(await number.gets(other)).toMatchObject({ text: 'on the phone', from_name: 'Ana' });
    expect([arrivals(id).length, arrivals(other).length]).toEqual([1, 1]);
    expect(askedOfPhone()).toContain(other);
    expect(await requests(id)).toBe(1);
    await until('nothing is missing', () => number.rows.of('unavailable').length === 0 || undefined);
  });

  test('are requested by the next engine if this one had no time to ask the phone', async () => {
    const { number, ana } = stage;
    const id = await ana.writes('later', { to: to(), options: NEVER });
    await until('its sender is asked', async () => (await requests(id)) > 0 || undefined);
    expect(number.rows.of('unavailable').map(({ key }) => key)).toEqual([id]);
    await number.replace();
    expect(await number.gets(id)).toMatchObject({ text: 'later', from_name: 'Ana' });
    expect(arrivals(id)).toHaveLength(1);
  });
});

test('are recorded before their sender is asked again', async () => {
  const { number, ana, phone, network } = stage;
  let release!: () => void;
  const stored = new Promise<void>((resolve) => (release = resolve));
  number.rows.before = (what) => (what === 'session' ? stored : undefined);
  const id = await ana.writes('noted first', { to: phone.number, options: AT_FIRST });
  await network.waitStanza({ tag: 'message', id, way: 'out' } as never);
  expect(Math.max(...(await seenMeanwhile(stage, () => requests(id))))).toBe(0);
  number.rows.before = () => undefined;
  release();
  await number.gets(id);
  expect(await requests(id)).toBe(1);
});

test('are requested five times when the same one comes again and again', async () => {
  const { ana, number, phone } = stage;
  await phone.behaves({ answersDevices: false });
  const keys = () => number.rows.of('pre-key').length;
  const before = keys();
  const id = await eve.writes('garbage', { to: phone.number, options: NEVER });
  await until('five requests', async () => (await requests(id)) === 5 || undefined);
  for (let n = 0; n < 10; n++) await eve.writes('garbage', { to: phone.number, options: { id, ...NEVER } });
  await ana.writes('behind the garbage', { to: phone.number });
  await number.text('behind the garbage');
  expect(await requests(id)).toBe(5);
  // One for each request except the first.
  expect(keys()).toBeLessThanOrEqual(before + 4);
});

describe('a device that requests a message again', () => {
  test('does not get a received message as if the instance had written it', async () => {
    const { number, phone, network, running } = stage;
    const id = await eve.writes('we refund it all', { to: phone.number });
    await number.gets(id);
    for (const companion of running.network.world.people.need(phone.number).companions.values())
      deliver(
        companion,
        node('receipt', { from: eve.lidJid, id, type: 'retry', t: seconds() }, [
          node('retry', { count: '1', id, t: seconds(), v: '1' }),
        ]),
      );
    await network.waitStanza({ tag: 'ack', id, way: 'in' } as never);
    const said = await number.sendText(eve.jid, 'hello');
    await eve.receives({ id: said.id });
    expect(await network.received({ to: eve.number, id })).toEqual([]);
  });

  test('gets an edit that it could not decrypt', async () => {
    const { number, ana, phone, running } = stage;
    const { id } = await number.sendText(ana.jid, 'first');
    await ana.receives({ id });
    const device = running.network.world.people.need(ana.number).phone.signal;
    for (const companion of running.network.world.people.need(phone.number).companions.keys())
      device.forgetSession({ user: phone.lid, device: companion });
    const message = { chat: ana.jid, wa_message_id: id, from_me: true, participant: null };
    const writing = { mayWrite: () => true, signal: NEVER_ABORTED };
    await number.driver.edit({ kind: 'edit', stanza_id: '3EB0AGAIN', message, text: 'second' }, writing);
    const seen = await ana.receives({ id: '3EB0AGAIN' });
    expect(seen.message?.['protocolMessage']).toMatchObject({ editedMessage: { conversation: 'second' } });
    expect(await ana.inbox({ id: '3EB0AGAIN', fate: 'unreadable' })).toHaveLength(1);
  });
});

test('the network reports no protocol errors', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});
