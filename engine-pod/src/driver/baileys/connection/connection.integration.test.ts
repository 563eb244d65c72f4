import { NotAdminError, type Disconnect } from '../../driver.js';
import {
  NEVER_ABORTED,
  SimulatedInstance,
  numberStage,
  QR,
  seenMeanwhile,
  until,
  type NumberStage,
} from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
const open = async (): Promise<void> => void (stage = await numberStage());
const close = (): Promise<void> => stage.close();

/** Ends the open connection and returns how it ended. */
async function ending(cause: () => Promise<unknown>): Promise<Disconnect> {
  const { events } = stage.number;
  const before = events.length;
  await cause();
  const closed = await until('an end', () => events.slice(before).find((event) => event.kind === 'closed'));
  return closed.disconnect;
}

describe('a connection that ends reports how:', () => {
  beforeEach(open);
  afterEach(close);

  test.each<[string, (stage: NumberStage) => Promise<unknown>, Record<string, unknown>]>([
    [
      'unlinked on the phone',
      ({ phone }) => phone.unlinks(),
      { kind: 'logged-out', reason: 'device_removed' },
    ],
    [
      'banned',
      ({ network, phone }) => network.ban(phone.number),
      { kind: 'banned', code: '406', expiresAt: null },
    ],
    [
      'locked',
      ({ network, phone }) => network.ban(phone.number, { reason: 403 }),
      { kind: 'banned', code: '403', expiresAt: null },
    ],
    [
      'banned temporarily',
      ({ network, phone }) => network.ban(phone.number, { minutes: 60 }),
      { kind: 'banned', code: '101', expiresAt: expect.any(Date) as Date },
    ],
    [
      '503',
      ({ network, phone }) => network.streamError(phone.number, 503),
      { kind: 'dropped', reason: 'unavailable' },
    ],
    [
      'cut',
      ({ network, phone }) => network.cut(phone.number),
      { kind: 'dropped', reason: 'connection_closed' },
    ],
    [
      'restart requested',
      ({ network, phone }) => network.streamError(phone.number, 515),
      { kind: 'dropped', reason: 'restart_required', reconnect: 'at-once' },
    ],
  ])('%s', async (_, cause, how) => {
    expect(await ending(() => cause(stage))).toEqual(how);
  });

  test('replaced by another connection with the same credentials', async () => {
    const other = new SimulatedInstance(stage.running);
    for (const [name, entry] of stage.number.rows.session) other.rows.session.set(name, entry);
    expect(await ending(async () => other.connect())).toEqual({ kind: 'replaced' });
    await other.happens('opened');
    await other.driver.close();
  });

  test('version rejected', async () => {
    const { number, network } = stage;
    await number.driver.close();
    await network.call('oldestVersion', { version: [9, 9, 9] });
    expect(await ending(async () => number.connect())).toMatchObject({
      kind: 'dropped',
      reconnect: 'slowly',
    });
  });

  test('network unreachable', async () => {
    const { number, network } = stage;
    await number.driver.close();
    await network.outage(true);
    expect(await ending(async () => number.connect())).toMatchObject({ kind: 'dropped' });
  });
});

describe('a connection', () => {
  beforeEach(open);
  afterEach(close);

  test('detects a dead connection that reports no error', async () => {
    const { network, number, phone } = stage;
    await network.line(phone.number, { frozen: true });
    number.clock.advance(29_000);
    expect(number.events.at(-1)?.kind).toBe('opened');
    const how = await ending(async () => number.clock.advance(1_000));
    expect(how).toEqual({ kind: 'dropped', reason: 'silent' });
  });

  test('writes nothing once the lease has expired, even before a timer notices', async () => {
    const { number, ana, phone, network } = stage;
    await ana.writes('in time', { to: phone.number });
    await number.text('in time');
    const confirmed = () => network.stanzas({ way: 'in', tag: 'receipt' });
    await until('the first is confirmed', async () => ((await confirmed()).length > 0 ? true : undefined));
    const before = (await network.stanzas({ way: 'in' })).length;
    const how = await ending(async () => {
      number.rows.leased = false;
      await ana.writes('too late', { to: phone.number });
    });
    expect(how.kind).toBe('dropped');
    const after = (await network.stanzas({ way: 'in' })).slice(before);
    expect(after.map(({ stanza }) => stanza.tag)).toEqual([]);
  });

  test('reports and writes nothing after it was closed by the engine', async () => {
    const { number, ana } = stage;
    const before = number.events.length;
    await number.driver.close();
    await expect(number.driver.checkContact('5511900000002')).rejects.toMatchObject({ certain: true });
    await expect(number.driver.markRead(ana.jid, [])).rejects.toMatchObject({ retriable: true });
    expect(number.events.length).toBe(before);
  });

  test('receives everything after an hour offline, in order and once', async () => {
    const { number, ana, phone } = stage;
    await number.driver.close();
    const texts = Array.from({ length: 300 }, (_, n) => `waiting ${n}`);
    for (const text of texts) await ana.writes(text, { to: phone.number });
    number.connect();
    await until('all of them', () => (number.rows.inbound.length >= texts.length ? true : undefined));
    expect(number.rows.inbound.map(({ text }) => text)).toEqual(texts);
  });
});

describe('pairing', () => {
  beforeAll(open);
  afterAll(close);

  const paired = async (number: SimulatedInstance) => (await number.happens('paired')).device;

  test('by a code typed on the phone', async () => {
    const { running, network } = stage;
    const phone = await network.phone('5511900000005', { name: 'Other' });
    const number = new SimulatedInstance(running);
    number.connect({ session: QR.session, method: 'code', phone: phone.number });
    const { code, expiresInMs } = await number.happens('pairing-code');
    expect([code.length, expiresInMs]).toEqual([8, 120_000]);
    await phone.types(code);
    expect(await paired(number)).toMatchObject({ jid: phone.jid });
    await number.happens('opened');
    await number.driver.close();
  });

  test('of a business reports its name', async () => {
    const { running, network } = stage;
    const phone = await network.phone('5511900000006', { name: 'Shop', business: 'The Shop' });
    const number = new SimulatedInstance(running);
    number.connect(QR);
    await phone.scan((await number.happens('qr')).code);
    expect(await paired(number)).toMatchObject({ business_name: 'The Shop', platform: 'smba' });
    await number.happens('opened');
    await number.driver.close();
  });

  test('stores nothing when it fails', async () => {
    const number = new SimulatedInstance(stage.running);
    number.connect({ session: QR.session, method: 'code', phone: '5511900000007' });
    await number.happens('pairing-code');
    await number.driver.close();
    expect(number.rows.of('creds')).toEqual([]);
    number.connect();
    expect((await number.happens('closed')).disconnect).toEqual({ kind: 'logged-out', reason: 'no_session' });
  });

  test('is not confirmed to the phone before the credentials are stored', async () => {
    const { running, network } = stage;
    const phone = await network.phone('5511900000008', { name: 'Slow' });
    const number = new SimulatedInstance(running);
    number.connect(QR);
    const { code } = await number.happens('qr');
    let release!: () => void;
    const stored = new Promise<void>((resolve) => (release = resolve));
    number.rows.before = (what) => (what === 'session' ? stored : undefined);
    const scanned = phone.scan(code);
    await number.happens('paired');
    const closed = () => number.events.some(({ kind }) => kind === 'closed');
    expect(await seenMeanwhile(stage, closed)).not.toContain(true);
    release();
    await scanned;
    await number.happens('opened');
    expect(number.rows.of('creds')).toHaveLength(1);
    await number.driver.close();
  });
});

describe('logging out', () => {
  beforeEach(open);
  afterEach(close);

  test('unlinks the device and deletes the session', async () => {
    const { number, phone } = stage;
    expect(await number.driver.logout()).toBe(true);
    expect(number.rows.session.size).toBe(0);
    expect(await number.driver.logout()).toBe(true);
    number.events.length = 0;
    number.connect(QR);
    await phone.scan((await number.happens('qr')).code);
    await number.happens('opened');
  });

  test('deletes a session of more keys than one call takes', async () => {
    const { number } = stage;
    const [known] = number.rows.of('pre-key');
    for (let key = 0; key < 6_000; key++)
      number.rows.session.set(`pre-key many-${key}`, { ...known!, key: `many-${key}` });
    expect(await number.driver.logout()).toBe(true);
    expect(number.rows.session.size).toBe(0);
  });

  test('connects to log out if necessary', async () => {
    const { number, network, phone } = stage;
    await number.driver.close();
    expect(await number.driver.logout()).toBe(true);
    expect(number.rows.session.size).toBe(0);
    expect(JSON.stringify(await network.call('account', { number: phone.number }))).not.toContain(
      '"device":1',
    );
  });

  test('reports a failed unlink and deletes the session all the same', async () => {
    const { number, network } = stage;
    await number.driver.close();
    await network.outage(true);
    expect(await number.driver.logout()).toBe(false);
    expect(number.rows.session.size).toBe(0);
  });
});

describe('besides messages', () => {
  beforeAll(open);
  afterAll(close);

  test('looks up contacts', async () => {
    const { number, ana } = stage;
    expect(await number.driver.checkContact(ana.number)).toEqual({ jid: ana.jid, lid: ana.lidJid });
    expect(await number.driver.checkContact('5511888888888')).toBeNull();
  });

  test('looks up a LID, with the phone number once it is known', async () => {
    const { number, network, ana } = stage;
    const stranger = await network.contact('5511999990077');
    const found = { jid: stranger.lidJid, lid: stranger.lidJid };
    expect(await number.driver.checkContact(stranger.lidJid)).toEqual(found);
    expect(await number.driver.checkContact('99999999999@lid')).toBeNull();
    await number.sendText(ana.jid, 'oi');
    expect(await number.driver.checkContact(ana.lidJid)).toEqual({ jid: ana.jid, lid: ana.lidJid });
  });

  test('does not call a LID unknown when the network refuses to say', async () => {
    const { number, network } = stage;
    await network.rule({ on: 'usync/get/usync', answer: 500, times: 1 });
    const failure = { certain: true, retriable: true };
    await expect(number.driver.checkContact('99999999999@lid')).rejects.toMatchObject(failure);
  });

  test('marks received messages as read', async () => {
    const { number, ana, phone, network } = stage;
    const id = await ana.writes('read me', { to: phone.number });
    const { chat } = await number.text('read me');
    await number.driver.markRead(chat, [{ wa_message_id: id, participant: null }]);
    await network.waitReceipt({ id, type: 'read' });
  });

  test.each(['typing', 'recording', 'paused'] as const)('shows %s in the chat', async (presence) => {
    const { number, ana, network } = stage;
    await number.driver.sendPresence(ana.jid, presence);
    const states = (await network.stanzas({})).filter(({ stanza }) => stanza.tag === 'chatstate');
    expect(JSON.stringify(states)).toContain(presence === 'paused' ? 'paused' : 'composing');
  });

  test('delivers an edit, a reaction and a deletion', async () => {
    const { number, ana } = stage;
    const { id } = await number.sendText(ana.jid, 'first');
    await ana.receives({ id });
    const message = { chat: ana.jid, wa_message_id: id, from_me: true, participant: null };
    const given = { mayWrite: () => true, signal: NEVER_ABORTED };
    await number.driver.edit({ kind: 'edit', stanza_id: '3EB0EDIT', message, text: 'second' }, given);
    expect((await ana.receives({ id: '3EB0EDIT' })).attributes).toMatchObject({ edit: '1' });
    await number.driver.edit({ kind: 'react', stanza_id: '3EB0REACT', message, emoji: '👍' }, given);
    expect((await ana.receives({ id: '3EB0REACT' })).message).toMatchObject({
      reactionMessage: { text: '👍', key: { id } },
    });
    await number.driver.edit({ kind: 'delete', stanza_id: '3EB0DEL', message }, given);
    expect((await ana.receives({ id: '3EB0DEL' })).attributes).toMatchObject({ edit: '7' });
  });

  test('deletes a message of another member as an admin of the group, and only then', async () => {
    const { number, ana, phone, network } = stage;
    const given = { mayWrite: () => true, signal: NEVER_ABORTED };
    const bia = await network.contact('5511900000004');
    for (const [members, stanza_id] of [
      [[phone, ana, bia], '3EB0ADMIN'],
      [[ana, phone, bia], '3EB0MEMBER'],
    ] as const) {
      const group = await network.group('Friends', [...members]);
      const id = await bia.writes('out of place', { to: group });
      const { from } = await number.gets(id);
      const message = { chat: group, wa_message_id: id, from_me: false, participant: from };
      const deletion = number.driver.edit({ kind: 'delete', stanza_id, message }, given);
      if (stanza_id === '3EB0MEMBER') {
        await expect(deletion).rejects.toThrow(NotAdminError);
        expect(await network.received({ id: stanza_id })).toEqual([]);
        continue;
      }
      await deletion;
      const { message: shown, attributes } = await ana.receives({ id: stanza_id });
      expect(attributes).toMatchObject({ edit: '8' });
      expect(shown).toMatchObject({
        protocolMessage: { type: 'REVOKE', key: { id, participant: bia.lidJid } },
      });
    }
    const foreign = await network.group('Others', [ana, bia]);
    const message = { chat: foreign, wa_message_id: '3EB0', from_me: false, participant: bia.lidJid };
    await expect(
      number.driver.edit({ kind: 'delete', stanza_id: '3EB0FOREIGN', message }, given),
    ).rejects.toThrow(NotAdminError);
  });
});
