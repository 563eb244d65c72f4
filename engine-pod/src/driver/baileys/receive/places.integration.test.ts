import { ADDRESS_FORMS } from '@gwk/core/ids/addresses';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import { deliver } from '@gwk/network/post/mail';
import { node, seconds } from '@gwk/network/wire/nodes';
import { proto } from '@whiskeysockets/baileys';
import { strangerStage, until } from '@gwk/test/support/engine/simulated-instance';

/** Messages from every form of address, with every time, and that the internal API refuses. */
let stage: Awaited<ReturnType<typeof strangerStage>>;
beforeAll(async () => {
  stage = await strangerStage();
});
afterAll(() => stage.close());

const companion = () =>
  [...stage.running.network.world.people.need(stage.phone.number).companions.values()][0]!;
let last = 0;
const newId = (): string => `3EB0PLACE${++last}`;
const bring = (attrs: Record<string, string>, type = 'msg'): string => {
  const id = newId();
  const content = [node('enc', { v: '2', type }, Buffer.from('not for this device'))];
  deliver(companion(), node('message', { id, t: seconds(), type: 'text', ...attrs }, content));
  return id;
};
/** Once it has arrived, so has everything before it. */
const writesAfterwards = async (): Promise<void> => {
  const text = `after ${++last}`;
  await stage.ana.writes(text, { to: stage.phone.number });
  await stage.number.text(text);
};
const arrived = (id: string) => stage.number.rows.inbound.filter(({ wa_message_id }) => wa_message_id === id);

describe.each(['lid', 'pn'] as const)('a business at the Cloud API, by %s', (addressing) => {
  test.each<[string, object]>([
    ['writes', {}],
    ['writes again', {}],
    ['is decrypted after a resend', { garbled: 1 }],
  ])('%s in the chat of the business', async (text, more) => {
    const { ana, number, phone } = stage;
    const id = await ana.writes(text, { to: phone.number, options: { addressing, hosted: true, ...more } });
    const [chat, alt] = addressing === 'lid' ? [ana.lidJid, ana.jid] : [ana.jid, ana.lidJid];
    expect(await number.gets(id)).toMatchObject({ chat, from: chat, alt, from_me: false, text });
    expect(arrived(id)).toHaveLength(1);
    const [sent] = await stage.network.stanzas({ id, way: 'out', tag: 'message' });
    expect(sent!.stanza.attrs['from']).toMatch(addressing === 'lid' ? /:99@hosted\.lid$/ : /:99@hosted$/);
  });
});

test('a business at the Cloud API is the member of a group', async () => {
  const { ana, number, group } = stage;
  for (const text of ['first', 'second']) {
    const id = await ana.writes(text, { to: group, options: { hosted: true } });
    expect(await number.gets(id)).toMatchObject({ chat: group, from: ana.lidJid, alt: ana.jid, text });
  }
});

const withPlace = (decision: string) =>
  ADDRESS_FORMS.filter((form) => form.decision === decision).map(({ example }) => example);

test.each([...withPlace('unknown'), '77@future'])(
  'a message from %s is reported as unknown',
  async (from) => {
    const id = bring({ from, notify: 'Somebody' });
    const expected = {
      chat: from,
      from,
      from_name: 'Somebody',
      from_me: false,
      type: 'other',
      kind: 'unknown',
    };
    expect(await stage.number.gets(id)).toMatchObject({ ...expected, text: null });
  },
);

test('a message of unknown place is journalled before it is acknowledged', async () => {
  const { number, network } = stage;
  const { asked, release } = number.rows.holdWrites();
  const id = bring({ from: '77@future' });
  await until('the journal is written', () => asked() > 0 || undefined);
  expect(await network.stanzas({ id, way: 'in' })).toEqual([]);
  number.rows.before = () => undefined;
  release();
  await number.gets(id);
  await network.waitStanza({ tag: 'ack', id, way: 'in' } as never);
});

test.each(withPlace('ignored'))('a message from %s is ignored', async (from) => {
  const { ana, network, number, phone } = stage;
  const message = { conversation: `ignored from ${from}` };
  if (from === 'status@broadcast')
    await network.call('writeToList', { from: ana.number, list: from, to: [phone.number], message });
  else {
    const plaintext = Buffer.concat([proto.Message.encode(message).finish(), Buffer.from([1])]);
    const attrs = { from, id: newId(), t: seconds(), type: 'text' };
    deliver(companion(), node('message', attrs, [node('plaintext', {}, plaintext)]));
  }
  await writesAfterwards();
  expect(number.rows.inbound.filter(({ text }) => text === message.conversation)).toEqual([]);
});

test('an answer of an assistant in a group is reported, and only the phone shows it', async () => {
  const { group, number } = stage;
  const id = bring({ from: group, participant: '867051314767696@bot' }, 'msmsg');
  const expected = { chat: group, from: '867051314767696@bot', type: 'other', kind: 'placeholder' };
  expect(await number.gets(id)).toMatchObject(expected);
});

test('a message that the own phone writes to an assistant is no note to oneself', async () => {
  const { phone, number } = stage;
  const chat = '867051314767696@bot';
  const options = { attributes: { recipient: chat } };
  const id = await phone.writesOnPhone(stage.ana.number, 'What is on today?', options);
  const expected = { chat, from: phone.jid, from_me: true, kind: 'unknown', text: 'What is on today?' };
  expect(await number.gets(id)).toMatchObject(expected);
});

test.each(['99999999999999', '-5', '0', 'soon', '8640000000001'])(
  'the time %s is that of the arrival',
  async (t) => {
    const { ana, number, phone } = stage;
    const before = Date.now();
    const id = await ana.writes(`at ${t}`, { to: phone.number, options: { attributes: { t } } });
    const { at, text } = await number.gets(id);
    expect(text).toBe(`at ${t}`);
    expect(Date.parse(at)).toBeGreaterThanOrEqual(before - 1_000);
    expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
  },
);

test.each([
  [1, { from_name: 'Ana', type: 'other', kind: 'unknown', text: 'a place' }],
  [2, { from_name: null, type: 'other', kind: 'unknown', text: 'a place' }],
])('a message that the API refuses %s times is reported with less', async (times, expected) => {
  const { ana, number, phone } = stage;
  let refusals = 0;
  number.rows.before = (what) => {
    if (what === 'inbound' && refusals++ < times) throw new InternalApiRefusal('invalid', null);
  };
  const content = { liveLocationMessage: { degreesLatitude: 1, degreesLongitude: 2, caption: 'a place' } };
  const id = await ana.writes(content, { to: phone.number });
  const message = await number.gets(id);
  number.rows.before = () => undefined;
  expect(message).toMatchObject({ chat: ana.lidJid, from: ana.lidJid, ...expected });
  expect(message).not.toHaveProperty('location');
});

test('a message that the API refuses in every form is counted, and later ones arrive', async () => {
  const { ana, number, phone } = stage;
  number.rows.before = (what) => {
    if (what === 'inbound') throw new InternalApiRefusal('invalid', null);
  };
  await ana.writes('refused', { to: phone.number });
  await until('it is counted', () => number.rows.ignored.includes('refused') || undefined);
  number.rows.before = () => undefined;
  await ana.writes('after it', { to: phone.number });
  await number.text('after it');
  expect(number.rows.inbound.some(({ text }) => text === 'refused')).toBe(false);
});

test('a message whose content cannot be parsed is reported as unknown', async () => {
  const { ana, number, phone } = stage;
  const find = jest.spyOn(number.rows.pollSecrets, 'get').mockImplementation(() => {
    throw new RangeError('too deep');
  });
  const junk = {
    encPayload: Buffer.alloc(40).toString('base64'),
    encIv: Buffer.alloc(12).toString('base64'),
  };
  const pollCreationMessageKey = { remoteJid: ana.jid, id: '3EB0UNPARSED' };
  const content = { pollUpdateMessage: { pollCreationMessageKey, vote: junk } };
  const id = await ana.writes(content, { to: phone.number });
  expect(await number.gets(id)).toMatchObject({
    ...{ chat: ana.lidJid, from: ana.lidJid, from_name: 'Ana' },
    ...{ type: 'other', kind: 'unknown', text: null },
  });
  find.mockRestore();
});

test('the network reports no protocol errors', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});
