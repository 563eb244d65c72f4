import * as libsignal from 'libsignal';
import {
  lineIsQuiet,
  numberStage,
  slowWrites,
  until,
  type NumberStage,
} from '@gwk/test/support/engine/simulated-instance';

/** Many messages at once: decrypted ahead of Baileys, stored together, and reported in order. */
const CONTACTS = 4;
const EACH = 4;

let stage: NumberStage;
let group: string;
const contacts: NumberStage['ana'][] = [];
beforeAll(async () => {
  stage = await numberStage();
  const { network, number, phone, ana } = stage;
  contacts.push(ana);
  while (contacts.length < CONTACTS)
    contacts.push(await network.contact(`551190000020${contacts.length}`, { name: 'One of many' }));
  group = await network.group('Friends', [phone, ...contacts]);
  for (const contact of contacts) {
    await contact.writes(`first of ${contact.number}`, { to: phone.number });
    await number.text(`first of ${contact.number}`);
    // Contacts who never got an answer start a session with each message.
    await contact.receives({ id: (await number.sendText(contact.jid, 'welcome')).id });
  }
});
afterEach(() => {
  stage.number.rows.before = () => undefined;
});
afterAll(() => stage?.close());

const delivered = (beginning: string) =>
  stage.number.rows.inbound.flatMap(({ text }) => (text?.startsWith(beginning) ? [text] : []));
const allDelivered = (texts: readonly string[]) =>
  until(
    `all ${texts.length}`,
    () =>
      texts.every((text) => stage.number.rows.inbound.some((message) => message.text === text)) || undefined,
  );
const requests = async () => (await stage.network.receipts({ type: 'retry' })).length;

/** Everything that contacts write meanwhile comes at once. */
async function atOnce<T>(write: () => Promise<T>): Promise<T> {
  const { network, phone } = stage;
  await network.holdMail(phone.number);
  const written = await write();
  await network.releaseMail(phone.number);
  return written;
}

async function allWrite(name: string, to = stage.phone.number): Promise<{ ids: string[]; texts: string[] }> {
  const [ids, texts]: [string[], string[]] = [[], []];
  for (let number = 0; number < EACH; number++) {
    for (const [index, contact] of contacts.entries()) {
      texts.push(`${name} of ${index}: ${number}`);
      ids.push(await contact.writes(texts.at(-1)!, { to }));
    }
  }
  return { ids, texts };
}

test.each([
  ['contacts', () => stage.phone.number],
  ['a group', () => group],
])('stores messages of %s together, and delivers them in order', async (whose, to) => {
  const { rows } = stage.number;
  // Everybody has the sender key of the group.
  for (const contact of contacts) await contact.writes(`key of ${whose} ${contact.number}`, { to: to() });
  for (const contact of contacts) await stage.number.text(`key of ${whose} ${contact.number}`);
  await stage.phone.hasTakenAll();
  const before = rows.writes;
  slowWrites(stage);
  const { texts } = await atOnce(() => allWrite(`together, ${whose}`, to()));
  await allDelivered(texts);
  expect(rows.writes - before).toBeLessThanOrEqual(texts.length / 2);
  expect(delivered(`together, ${whose}`)).toEqual(texts);
  expect(await requests()).toBe(0);
});

test('acknowledges and delivers no message before it is stored', async () => {
  const { network, number } = stage;
  const writes = stage.number.rows.holdWrites();
  const { ids, texts } = await atOnce(() => allWrite('unstored'));
  await until('a write is requested', () => writes.asked() > 0 || undefined);
  await lineIsQuiet(stage);
  for (const id of ids) expect(await network.receipts({ id })).toEqual([]);
  expect(delivered('unstored')).toEqual([]);
  writes.release();
  await allDelivered(texts);
  expect(delivered('unstored')).toEqual(texts);
  expect(number.events.at(-1)?.kind).toBe('opened');
});

test('delivers messages decrypted when the connection ended once, in order, without requesting them again', async () => {
  const { network, number, phone } = stage;
  const writes = stage.number.rows.holdWrites();
  const { texts } = await atOnce(() => allWrite('cut off'));
  await until('a write is requested', () => writes.asked() > 0 || undefined);
  await lineIsQuiet(stage);
  number.events.length = 0;
  await network.cut(phone.number);
  await number.happens('closed');
  number.connect();
  writes.release();
  await allDelivered(texts);
  await phone.hasTakenAll();
  expect(delivered('cut off')).toEqual(texts);
  expect(await requests()).toBe(0);
});

test('delivers messages decrypted when the engine died by the next engine, once and in order', async () => {
  const { number, phone } = stage;
  let writes = 0;
  number.rows.before = (what) => {
    // Killed with its first messages stored and none delivered.
    if (what === 'inbound') return new Promise(() => undefined);
    writes += what === 'session' ? 1 : 0;
    return writes > 2 ? new Promise(() => undefined) : undefined;
  };
  const { texts } = await atOnce(() => allWrite('died'));
  await until('the third write', () => writes > 2 || undefined);
  number.rows.before = () => undefined;
  await number.replace();
  await allDelivered(texts);
  await phone.hasTakenAll();
  expect(delivered('died')).toEqual(texts);
  expect(await requests()).toBe(0);
});

test('uses sender keys that come among the messages of the group', async () => {
  const { network, number, phone } = stage;
  const fresh = await network.group('New', [phone, ...contacts]);
  const { texts } = await atOnce(() => allWrite('new group', fresh));
  await allDelivered(texts);
  await phone.hasTakenAll();
  expect(delivered('new group')).toEqual(texts);
  expect(await requests()).toBe(0);
  const [contact] = contacts;
  await contact!.writes('later in the group', { to: fresh });
  await number.text('later in the group');
});

test("keeps the order between messages of the owner's phone and of the contact", async () => {
  const { ana, phone } = stage;
  const texts = Array.from({ length: 12 }, (_, n) => `in turns ${n}`);
  await atOnce(async () => {
    for (const [n, text] of texts.entries())
      await (n % 2 ? phone.writesOnPhone(ana.number, text) : ana.writes(text, { to: phone.number }));
  });
  await allDelivered(texts);
  expect(delivered('in turns')).toEqual(texts);
});

test('delivers others while one cannot be decrypted at first, and that one too', async () => {
  const { ana, phone } = stage;
  const before = await requests();
  const texts = await atOnce(async () => {
    await ana.writes('garbled, then well', { to: phone.number, options: { garbled: 1 } });
    return (await allWrite('around it')).texts;
  });
  await allDelivered([...texts, 'garbled, then well']);
  expect(delivered('around it')).toEqual(texts);
  expect(await requests()).toBe(before + 1);
});

interface Cipher {
  doDecryptWhisperMessage: (...given: unknown[]) => Promise<unknown>;
}

test('tries an undecryptable message once, so it counts once in the budget', async () => {
  const { ana, number, phone } = stage;
  const cipher = libsignal.SessionCipher.prototype as unknown as Cipher;
  const stock = cipher.doDecryptWhisperMessage;
  let inVain = 0;
  cipher.doDecryptWhisperMessage = async function (...given) {
    return stock.apply(this, given).catch((error: unknown) => {
      inVain += 1;
      throw error;
    });
  };
  try {
    await ana.writes('tried once', { to: phone.number, options: { garbled: 1 } });
    await number.text('tried once');
    expect(inVain).toBe(1);
  } finally {
    cipher.doDecryptWhisperMessage = stock;
  }
});

test('decrypts messages at once of a contact known by phone number who also uses a LID', async () => {
  const { network, number, phone } = stage;
  const bia = await network.contact('5511900000300', { name: 'Bia' });
  const byPhone = { to: phone.number, options: { addressing: 'pn' } } as const;
  const texts = Array.from({ length: 8 }, (_, n) => `by two names ${n}`);
  await atOnce(async () => {
    for (const [n, text] of texts.entries())
      await bia.writes(text, n < 4 ? byPhone : { to: phone.number, options: { addressing: 'lid' } });
  });
  await allDelivered(texts);
  expect(delivered('by two names')).toEqual(texts);
  await bia.receives({ id: (await number.sendText(bia.jid, 'to both names')).id });
});

test('keeps the order of a contact who writes under two ids, even if the first is slow to deliver', async () => {
  const { network, number, phone } = stage;
  const eva = await network.contact('5511900000301', { name: 'Eva' });
  await eva.writes('by phone first', { to: phone.number, options: { addressing: 'pn' } });
  await number.text('by phone first');
  let release!: () => void;
  const slow = new Promise<void>((resolve) => (release = resolve));
  let asked = 0;
  number.rows.before = (what) => {
    if (what !== 'inbound') return undefined;
    asked += 1;
    return asked === 1 ? slow : undefined;
  };
  const texts = ['slow, by phone', 'by LID', 'by phone again'];
  await atOnce(async () => {
    for (const [n, text] of texts.entries())
      await eva.writes(text, { to: phone.number, options: { addressing: n === 1 ? 'lid' : 'pn' } });
  });
  // Another contact's message is delivered beside the slow one, so all were decrypted.
  const [contact] = contacts;
  await contact!.writes('beside the slow one', { to: phone.number });
  await number.text('beside the slow one');
  release();
  await allDelivered(texts);
  expect(number.rows.inbound.flatMap(({ text }) => (texts.includes(text ?? '') ? [text] : []))).toEqual(
    texts,
  );
});
