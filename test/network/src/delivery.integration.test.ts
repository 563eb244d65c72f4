import { generateMessageIDV2 } from '@whiskeysockets/baileys';
import { setStage, type Stage } from './testing/stage.js';
import { until, type StockClient } from './testing/stock-client.js';

let stage: Stage;
let client: StockClient;
/** Stanzas on slow lines, which arrive when the test releases them, with their latency in milliseconds. */
const carried: { ms: number; arrive: () => void }[] = [];
const lineClock = { now: () => 0, at: (ms: number, arrive: () => void) => void carried.push({ ms, arrive }) };

beforeAll(async () => {
  stage = await setStage({ lineClock });
});
beforeEach(async () => {
  client = await stage.recover();
});
afterAll(() => stage.close());

const reopened = () => stage.newClient(stage.client.auth).open();

describe('a message is refused', () => {
  it('with 463 to people who have not written, while the phone number is restricted', async () => {
    const { network, ana, phone } = stage;
    const bia = await network.contact('5511900000003');
    await ana.writes('hello', { to: phone.number });
    await network.restrict(phone.number, { minutes: 5 });
    const refused = await client.send(bia.jid, { text: 'new' });
    expect(await client.acked(refused.id)).toMatchObject({ error: '463' });
    const known = await client.send(ana.jid, { text: 'known' });
    expect(await client.acked(known.id)).not.toHaveProperty('error');
    await ana.receives('known');
    expect(await bia.inbox()).toEqual([]);
    const locks = () => client.updates.flatMap(({ reachoutTimeLock }) => reachoutTimeLock ?? []);
    await until(() => locks().find(({ isActive }) => isActive), 'the notification of the restriction');
    await network.lift(phone.number);
    expect(await client.socket.fetchAccountReachoutTimelock()).toMatchObject({ isActive: false });
  });

  it.each([479, 405])('with %d once, by a rule', async (answer) => {
    const { network, ana } = stage;
    await network.rule({ on: 'message', answer, times: 1 });
    const refused = await client.send(ana.jid, { text: 'refused' });
    expect(await client.acked(refused.id)).toMatchObject({ error: String(answer) });
    const next = await client.send(ana.jid, { text: 'next' });
    expect(await client.acked(next.id)).not.toHaveProperty('error');
    await ana.receives({ id: next.id });
    expect(await network.received({ id: refused.id })).toEqual([]);
  });

  it('with 479 when it is addressed by phone number and encrypted for a LID', async () => {
    const { network, ana } = stage;
    const id = generateMessageIDV2();
    const enc = { tag: 'enc', attrs: { v: '2', type: 'msg' }, content: Buffer.alloc(50) };
    const to = { tag: 'to', attrs: { jid: ana.lidJid }, content: [enc] };
    const content = [{ tag: 'participants', attrs: {}, content: [to] }];
    await client.socket.sendNode({ tag: 'message', attrs: { id, to: ana.jid, type: 'text' }, content });
    expect(await client.acked(id)).toMatchObject({ error: '479' });
    expect((await network.status()).violations.join()).toContain('encrypted for lid');
  });
});

describe('mail that waits', () => {
  it('arrives at the next login, in order and marked as offline mail', async () => {
    const { network, ana, phone } = stage;
    await network.cut(phone.number);
    await client.closed();
    const texts = Array.from({ length: 60 }, (_, position) => `waiting ${position}`);
    for (const text of texts) await ana.writes(text, { to: phone.number });
    const again = await reopened().connected();
    await phone.hasTakenAll();
    const waiting = () => again.messages.filter((message) => again.text(message)?.startsWith('waiting'));
    const got = await until(() => (waiting().length < texts.length ? undefined : waiting()), 'all of them');
    expect(got.map((message) => again.text(message))).toEqual(texts);
    expect(got.every(({ upsert }) => upsert === 'append')).toBe(true);
  });

  it('held by the network arrives after the release, in order and as new', async () => {
    const { network, ana, phone } = stage;
    const eva = await network.contact('5511900000008');
    await network.holdMail(phone.number);
    const texts = Array.from({ length: 20 }, (_, position) => `held ${position}`);
    for (const text of texts) await ana.writes(text, { to: phone.number });
    // Not to Ana: Baileys would start a session with her, and stock libsignal would corrupt it with mail of the old
    // session.
    const { id } = await client.send(eva.jid, { text: 'meanwhile' });
    await eva.receives({ id });
    const held = () => client.messages.filter((message) => client.text(message)?.startsWith('held'));
    expect(held()).toEqual([]);
    await network.releaseMail(phone.number);
    await phone.hasTakenAll();
    const got = await until(() => (held().length < texts.length ? undefined : held()), 'all of them');
    expect(got.map((message) => client.text(message))).toEqual(texts);
    expect(got.every(({ upsert }) => upsert === 'notify')).toBe(true);
  });

  it('is delivered again until the client confirms it', async () => {
    const { network, ana, phone } = stage;
    await network.line(phone.number, { frozen: true });
    const id = await ana.writes('into the void', { to: phone.number });
    await network.cut(phone.number);
    await client.closed();
    await network.line(phone.number);
    const again = await reopened().connected();
    expect(await again.gotId(id)).toMatchObject({ upsert: 'append' });
  });
});

describe('a message that cannot be read', () => {
  it('by a phone is requested again and arrives', async () => {
    const { ana, phone, running } = stage;
    await client.gotId(await ana.writes('hello', { to: phone.number }));
    await ana.receives({ id: (await client.send(ana.jid, { text: 'one' })).id });
    running.network.world.people.need(ana.number).phone.signal.forgetSession({ user: phone.lid, device: 1 });
    const { id } = await client.send(ana.jid, { text: 'two' });
    expect(await ana.receives({ id })).toMatchObject({ text: 'two', fate: 'shown' });
  });

  it('by a client is requested again and arrives', async () => {
    const { ana, phone } = stage;
    await client.gotId(await ana.writes('one', { to: phone.number }));
    for (const row of client.auth.rows.keys()) if (row.startsWith('session ')) client.auth.rows.delete(row);
    const id = await ana.writes('two', { to: phone.number });
    expect(client.text(await client.gotId(id))).toBe('two');
    await stage.network.waitReceipt({ type: 'retry', id });
  });

  it('because the contact has a new phone is requested again and arrives', async () => {
    const { network } = stage;
    const dora = await network.contact('5511900000007');
    await client.gotId(await dora.writes('from the old phone', { to: stage.phone.number }));
    await dora.receives({ id: (await client.send(dora.jid, { text: 'to the old phone' })).id });
    await dora.reinstalls();
    const { id } = await client.send(dora.jid, { text: 'to the new phone' });
    expect(await dora.receives({ id })).toMatchObject({ fate: 'shown' });
    await client.gotId(await dora.writes('from the new phone', { to: stage.phone.number }));
  });

  it('because its key was used before is dropped without notice', async () => {
    const { ana, phone, network } = stage;
    await client.gotId(await ana.writes('hello', { to: phone.number }));
    await ana.receives({ id: (await client.send(ana.jid, { text: 'one' })).id });
    await ana.receives({ id: (await client.send(ana.jid, { text: 'two' })).id });
    const before = new Map(
      [...client.auth.rows]
        .filter(([row]) => row.startsWith('session '))
        .map(([row, value]) => [row, structuredClone(value)]),
    );
    await ana.receives({ id: (await client.send(ana.jid, { text: 'three' })).id });
    for (const [row, value] of before) client.auth.rows.set(row, value);
    const { id } = await client.send(ana.jid, { text: 'four' });
    const fate = await network.waitReceived({ to: ana.number, id });
    expect(fate).toMatchObject({ fate: 'dropped' });
  });

  it('is shown once when it was resent under its id', async () => {
    const { ana, network } = stage;
    const messageId = generateMessageIDV2();
    const content = { extendedTextMessage: { text: 'once' } };
    await client.socket.relayMessage(ana.jid, content, { messageId });
    await client.socket.relayMessage(ana.jid, content, { messageId });
    await network.waitReceived({ id: messageId, fate: 'repeated' });
    expect(await ana.inbox({ id: messageId })).toHaveLength(1);
  });
});

describe('a bad line', () => {
  it('delays stanzas and keeps their order', async () => {
    const { network, ana, phone } = stage;
    await network.line(phone.number, { latencyMs: 80 });
    const arriving = ana.receives('c');
    const sending = (async () => {
      for (const text of ['a', 'b', 'c']) await client.send(ana.jid, { text });
    })();
    let sent = false;
    void Promise.all([sending, arriving]).then(() => (sent = true));
    await until(() => carried.length > 0 || undefined, 'a stanza is on the line');
    expect(await ana.inbox({ text: 'a' })).toEqual([]);
    await until(() => {
      for (const { ms, arrive } of carried.splice(0)) {
        expect(ms).toBe(80);
        arrive();
      }
      return sent || undefined;
    }, 'all has arrived');
    await network.line(phone.number, { latencyMs: 0 });
    while (carried.length > 0) carried.shift()!.arrive();
    const seen = await ana.inbox();
    expect(seen.slice(-3).map(({ text }) => text)).toEqual(['a', 'b', 'c']);
  });

  it('drops everything and stays open when it is frozen', async () => {
    const { network, ana, phone } = stage;
    await client.send(ana.jid, { text: 'before' });
    await ana.receives('before');
    await network.line(phone.number, { frozen: true });
    await client.socket.sendPresenceUpdate('available');
    const { id } = await client.send(ana.jid, { text: 'swallowed' }).catch(() => ({ id: '' }));
    expect(await network.received({ id })).toEqual([]);
    expect(client.state).toBe('open');
  });

  it('can lose an acknowledgement', async () => {
    const { network, ana } = stage;
    await network.rule({ on: 'message', answer: 'silence', times: 1 });
    const { id } = await client.send(ana.jid, { text: 'unheard' });
    await ana.receives({ id });
    const next = await client.send(ana.jid, { text: 'heard' });
    await client.acked(next.id);
    expect(client.acks.find((ack) => ack.id === id)).toBeUndefined();
  });
});
