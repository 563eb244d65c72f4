import { setImmediate as turn } from 'node:timers/promises';
import { SendFailure, type Driver, type Stanza } from '../driver.js';
import {
  lineIsQuiet,
  NEVER_ABORTED,
  numberStage,
  seenMeanwhile,
  until,
  type NumberStage,
} from '@gwk/test/support/engine/simulated-instance';

/** Failure windows: the moments at which an engine may die, and the results that must not follow. */
let stage: NumberStage;
beforeEach(async () => {
  stage = await numberStage();
});
afterEach(() => stage.close());

const never = (): Promise<void> => new Promise(() => undefined);

/** Replaces the storing of one kind of data from now on, and counts the calls. */
function whenStoring(what: string, work: () => Promise<void>): () => number {
  let asked = 0;
  stage.number.rows.before = (stored) => {
    if (stored !== what) return undefined;
    asked += 1;
    return work();
  };
  return () => asked;
}
const isAsked = (asked: () => number) => until('it is to be stored', () => asked() > 0 || undefined);

/** A slow store, which lets other work run in between. */
async function otherWork(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await turn();
}

/** Neither a phone nor the engine had to request anything again. */
async function nothingWasLost(): Promise<void> {
  const { network, ana } = stage;
  expect((await network.receipts()).filter(({ type }) => type === 'retry')).toEqual([]);
  expect(await ana.inbox({ fate: 'dropped' })).toEqual([]);
  expect(await ana.inbox({ fate: 'unreadable' })).toEqual([]);
  expect((await network.status()).violations).toEqual([]);
}

async function stanzaLeft(id: string): Promise<boolean> {
  const entries = await stage.network.stanzas({});
  return entries.some(({ stanza }) => stanza.tag === 'message' && stanza.attrs['id'] === id);
}

/** Nobody answers the stanza: its sender gives up once the network has seen it. */
async function sendUnconfirmed(driver: Driver, stanza: Omit<Stanza, 'signal'>): Promise<void> {
  const givingUp = new AbortController();
  const sending = driver.send({ ...stanza, signal: givingUp.signal });
  sending.catch(() => undefined);
  await stage.network.waitStanza({ way: 'in', tag: 'message', id: stanza.waMessageId });
  givingUp.abort();
  await expect(sending).rejects.toMatchObject({ certain: false });
}

describe('an outgoing message', () => {
  test.each(['Ana', 'a group'])('to %s leaves only once its ratchet step is stored', async (whom) => {
    const { number, ana, phone, network } = stage;
    const to = whom === 'Ana' ? ana.jid : await network.group('Friends', [phone, ana]);
    await number.sendText(to, 'before');
    let release!: () => void;
    const stored = new Promise<void>((resolve) => (release = resolve));
    const asked = whenStoring('session', () => stored);
    const message = number.message(to, { type: 'text', text: { body: 'held' } });
    const sending = number.send(message);
    await isAsked(asked);
    await lineIsQuiet(stage);
    expect(await stanzaLeft(message.wa_message_id)).toBe(false);
    release();
    await sending;
    expect((await ana.receives({ id: message.wa_message_id })).text).toBe('held');
  });

  describe.each(['Ana', 'a group'])('to %s, encrypted while what was built is stored,', (whom) => {
    async function sendWhileStoring(stored: Promise<void>): Promise<{ id: string; sending: Promise<void> }> {
      const { number, ana, phone, network } = stage;
      const to = whom === 'Ana' ? ana.jid : await network.group('Friends', [phone, ana]);
      await number.sendText(to, 'before');
      const asked = whenStoring('session', async () => undefined);
      const message = number.message(to, { type: 'text', text: { body: 'held' } });
      const { bytes } = await number.driver.build(message);
      const given = { mayWrite: () => true, signal: NEVER_ABORTED, stored };
      const id = message.wa_message_id;
      const sending = number.driver.send({ waMessageId: id, chat: to, bytes, ...given });
      sending.catch(() => undefined);
      await isAsked(asked);
      await lineIsQuiet(stage);
      return { id, sending };
    }

    test('leaves once that is stored', async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      const { id, sending } = await sendWhileStoring(promise);
      expect(await stanzaLeft(id)).toBe(false);
      resolve();
      await sending;
      expect((await stage.ana.receives({ id })).text).toBe('held');
    });

    test('never leaves if another engine owns it, and the next message does', async () => {
      const { promise, reject } = Promise.withResolvers<void>();
      promise.catch(() => undefined);
      const { id, sending } = await sendWhileStoring(promise);
      reject(SendFailure.notWritten());
      await expect(sending).rejects.toMatchObject({ certain: true });
      const next = await stage.number.sendText(stage.ana.jid, 'next');
      expect((await stage.ana.receives({ id: next.id })).text).toBe('next');
      expect(await stanzaLeft(id)).toBe(false);
      await nothingWasLost();
    });
  });

  test.each(['Ana', 'a group'])(
    'to %s: the next engine can continue when this one dies after writing the stanza',
    async (whom) => {
      const { number, ana, phone, network } = stage;
      const to = whom === 'Ana' ? ana.jid : await network.group('Friends', [phone, ana]);
      await number.sendText(to, 'before');
      const message = number.message(to, { type: 'text', text: { body: 'the last one' } });
      let written = false;
      await number.send(message, () => {
        written = true;
        // Killed from here on: nothing after the stanza is stored.
        number.rows.before = never;
        return true;
      });
      expect(written).toBe(true);
      number.rows.before = () => undefined;
      await number.replace();
      const { id } = await number.sendText(to, 'after');
      expect((await ana.receives({ id })).text).toBe('after');
      expect((await ana.receives({ id: message.wa_message_id })).text).toBe('the last one');
      await nothingWasLost();
    },
  );

  test('sent again by the next engine while unconfirmed is shown once', async () => {
    const { number, ana, network } = stage;
    const message = number.message(ana.jid, { type: 'text', text: { body: 'once' } });
    const { bytes } = await number.driver.build(message);
    const stanza = { waMessageId: message.wa_message_id, chat: ana.jid, bytes, mayWrite: () => true };
    await network.rule({ on: 'message', answer: 'silence', times: 1 });
    await sendUnconfirmed(number.driver, stanza);
    await number.replace();
    await number.driver.send({ ...stanza, signal: NEVER_ABORTED });
    expect(await ana.inbox({ text: 'once' })).toHaveLength(1);
    await nothingWasLost();
  });
});

test('to a group that was lost with its sender key is sent again with it', async () => {
  const { number, ana, phone, network } = stage;
  const group = await network.group('Friends', [phone, ana]);
  const message = number.message(group, { type: 'text', text: { body: 'lost at first' } });
  const { bytes } = await number.driver.build(message);
  const stanza = { waMessageId: message.wa_message_id, chat: group, bytes, mayWrite: () => true };
  await network.rule({ on: 'message', answer: 'lose', times: 1 });
  await sendUnconfirmed(number.driver, stanza);
  await number.driver.send({ ...stanza, signal: NEVER_ABORTED });
  await ana.receives({ text: 'lost at first' });
  await nothingWasLost();
});

test('that a phone could not decrypt is resent by the next engine', async () => {
  const { number, ana, phone, running } = stage;
  await ana.writes('hello', { to: phone.number });
  await number.text('hello');
  await ana.receives({ id: (await number.sendText(ana.jid, 'one')).id });
  running.network.world.people.need(ana.number).phone.signal.forgetSession({ user: phone.lid, device: 1 });
  const { id } = await number.sendText(ana.jid, 'two');
  await number.replace();
  expect(await ana.receives({ id })).toMatchObject({ text: 'two', fate: 'shown' });
});

describe('an incoming message', () => {
  const arrivals = (text: string) =>
    stage.number.rows.inbound.filter((message) => message.text === text).length;
  const received = async (id: string) =>
    (await stage.network.receipts()).some(({ ids, type }) => ids.includes(id) && type !== 'retry');

  test('is not acknowledged before it is stored, and comes again', async () => {
    const { number, ana, phone } = stage;
    await ana.writes('first', { to: phone.number });
    await number.text('first');
    const asked = whenStoring('session', never);
    const id = await ana.writes('second', { to: phone.number });
    await isAsked(asked);
    await lineIsQuiet(stage);
    expect(await received(id)).toBe(false);
    number.rows.before = () => undefined;
    await number.replace();
    await number.text('second');
    await ana.writes('third', { to: phone.number });
    await number.text('third');
    expect([arrivals('second'), arrivals('third')]).toEqual([1, 1]);
    await nothingWasLost();
  });

  test('that is stored reaches the API through the next engine, although the network does not send it again', async () => {
    const { number, ana, phone } = stage;
    number.rows.before = (what) => (what === 'inbound' ? never() : undefined);
    const id = await ana.writes('kept', { to: phone.number });
    await stage.network.waitReceipt({ from: phone.number, id });
    number.rows.before = () => undefined;
    await number.replace();
    await number.text('kept');
    expect(arrivals('kept')).toBe(1);
    await nothingWasLost();
  });

  test('that is stored reaches the API although the next engine cannot read it at first', async () => {
    const { number, ana, phone } = stage;
    number.rows.before = (what) => (what === 'inbound' ? never() : undefined);
    const id = await ana.writes('kept', { to: phone.number });
    await stage.network.waitReceipt({ from: phone.number, id });
    number.rows.before = () => undefined;
    let failures = 1;
    number.rows.beforeRead = (type) => {
      if (type === 'journal' && failures-- > 0) throw new Error('the API is unreachable');
    };
    const replaced = number.replace();
    await until('the journal is to be read', () => failures < 1 || undefined);
    await number.happens('closed');
    number.connect();
    await replaced;
    await number.text('kept');
    expect(arrivals('kept')).toBe(1);
  });

  test('that is stored reaches the API once although a connection is replaced while it is read', async () => {
    const { number, ana, phone } = stage;
    number.rows.before = (what) => (what === 'inbound' ? never() : undefined);
    const id = await ana.writes('kept', { to: phone.number });
    await stage.network.waitReceipt({ from: phone.number, id });
    let deliveries = 0;
    number.rows.before = (what) => {
      if (what === 'inbound') deliveries += 1;
    };
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    let reads = 0;
    number.rows.beforeRead = (type) => (type === 'journal' && ++reads === 1 ? held : undefined);
    const replaced = number.replace();
    await until('the journal is to be read', () => reads || undefined);
    await number.driver.close();
    number.connect();
    const opened = await seenMeanwhile(stage, () => number.events.length);
    expect(Math.max(...opened)).toBe(0);
    release();
    await replaced;
    await number.text('kept');
    await lineIsQuiet(stage);
    expect(deliveries).toBe(1);
  });

  test('in a group is delivered likewise', async () => {
    const { number, network, ana, phone } = stage;
    const group = await network.group('Friends', [phone, ana]);
    await ana.writes('first', { to: group });
    await number.text('first');
    const asked = whenStoring('session', never);
    await ana.writes('second', { to: group });
    await isAsked(asked);
    number.rows.before = () => undefined;
    await number.replace();
    await number.text('second');
    await ana.writes('third', { to: group });
    await number.text('third');
    await nothingWasLost();
  });

  test.each(['Ana', 'a group'])(
    'from %s that comes again on the next connection while it is being stored is decrypted once',
    async (whence) => {
      const { number, network, ana, phone } = stage;
      const to = whence === 'Ana' ? phone.number : await network.group('Friends', [phone, ana]);
      await ana.writes('first', { to });
      await number.text('first');
      let release!: () => void;
      const stored = new Promise<void>((resolve) => (release = resolve));
      const asked = whenStoring('session', () => stored);
      const id = await ana.writes('second', { to });
      const brought = async (): Promise<number> =>
        (await network.stanzas({ way: 'out', tag: 'message' })).filter(
          ({ stanza }) => stanza.attrs['id'] === id,
        ).length;
      await until('it is brought', async () => (await brought()) === 1 || undefined);
      await isAsked(asked);
      number.events.length = 0;
      await network.cut(phone.number);
      await number.happens('closed');
      number.connect();
      await until('it is brought again', async () => (await brought()) === 2 || undefined);
      await number.happens('opened');
      await lineIsQuiet(stage);
      release();
      number.rows.before = () => undefined;
      await number.text('second');
      await ana.writes('third', { to });
      await number.text('third');
      expect([arrivals('second'), arrivals('third')]).toEqual([1, 1]);
      await nothingWasLost();
    },
  );

  test('is removed from the journal once the API has it and the network has the acknowledgement', async () => {
    const { number, ana, phone } = stage;
    await ana.writes('gone', { to: phone.number });
    await number.text('gone');
    await until('an empty journal', () => number.rows.of('journal').length === 0 || undefined);
  });
});

test('messages in both directions at once keep the sessions in step', async () => {
  const { number, ana, phone } = stage;
  whenStoring('session', otherWork);
  const texts = Array.from({ length: 30 }, (_, n) => `both ways ${n}`);
  await Promise.all([
    ...texts.map((text) => number.sendText(ana.jid, text)),
    ...texts.map((text) => ana.writes(text, { to: phone.number })),
  ]);
  await until('all of them', () =>
    number.rows.inbound.filter(({ text }) => text?.startsWith('both ways')).length === texts.length
      ? true
      : undefined,
  );
  for (const text of texts) await ana.receives({ text });
  await nothingWasLost();
});

test('delivers everything in order when both sides write first at once while the store is slow', async () => {
  const { number, ana, phone, network } = stage;
  const group = await network.group('Friends', [phone, ana]);
  number.rows.before = otherWork;
  const texts = Array.from({ length: 12 }, (_, n) => `first ${n}`);
  await Promise.all([
    (async () => {
      for (const text of texts)
        await ana.writes(text, { to: Number(text.slice(6)) % 2 ? group : phone.number });
    })(),
    ...texts.map((text) => number.sendText(ana.jid, text)),
    number.sendText(group, 'to the group'),
  ]);
  await number.replace();
  for (const text of texts) await number.text(text);
  const delivered = number.rows.inbound.map(({ text }) => text);
  const inChat = (odd: number) => texts.filter((text) => Number(text.slice(6)) % 2 === odd);
  for (const chat of [inChat(0), inChat(1)]) {
    expect(delivered.filter((text) => chat.includes(text!))).toEqual(chat);
  }
  for (const text of texts) await ana.receives({ text });
  await nothingWasLost();
});

test('stores a receipt before it is acknowledged; it comes again otherwise', async () => {
  const { number, ana } = stage;
  const asked = whenStoring('receipt', never);
  const { id } = await number.sendText(ana.jid, 'read me');
  await ana.receives({ id });
  await isAsked(asked);
  await lineIsQuiet(stage);
  number.rows.before = () => undefined;
  await number.replace();
  await until(
    'delivery',
    () => number.rows.receipts.some(({ waMessageId }) => waMessageId === id) || undefined,
  );
});
