import { numberStage, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

/** Messages that come by broadcast lists. */
let stage: NumberStage;
beforeAll(async () => {
  stage = await numberStage();
});
afterAll(() => stage.close());

const LIST = '1700000000@broadcast';

test.each(['lid', 'pn'] as const)(
  'a message of a list is an ordinary message of its sender, by %s',
  async (addressing) => {
    const { network, number, ana, phone } = stage;
    await ana.behaves({ addressing });
    const bia = await network.contact('5511900000005', { name: 'Bia' });
    const id = await ana.writesToList(LIST, [phone.number, bia.number], 'News!');
    const [jid, alt] = addressing === 'lid' ? [ana.lidJid, ana.jid] : [ana.jid, ana.lidJid];
    expect(await number.gets(id)).toMatchObject({
      ...{ chat: jid, from: jid, alt, from_me: false, text: 'News!', list: LIST },
    });
  },
);

test.each(['lid', 'pn'] as const)(
  'read marks of a list go to the list and those of direct messages to the chat, by %s',
  async (addressing) => {
    const { network, number, ana, phone } = stage;
    await ana.behaves({ addressing });
    const listed = await ana.writesToList(LIST, [phone.number], 'Sale!');
    const direct = await ana.writes('Are you open?', { to: phone.number });
    expect(await number.gets(direct)).not.toHaveProperty('list');
    const { list } = await number.gets(listed);
    await number.driver.markRead(ana.lidJid, [
      { wa_message_id: listed, participant: null, list: list! },
      { wa_message_id: direct, participant: null },
    ]);
    const findMark = async (id: string) => {
      await network.waitReceipt({ id, type: 'read' });
      const sent = await network.stanzas({ way: 'in', tag: 'receipt', id });
      return sent.map(({ stanza }) => stanza.attrs).filter(({ type }) => type === 'read');
    };
    expect(await findMark(listed)).toMatchObject([{ to: LIST, participant: ana.lidJid }]);
    const [mark] = await findMark(direct);
    expect(mark).toMatchObject({ to: ana.lidJid });
    expect(mark).not.toHaveProperty('participant');
  },
);

test('messages of a list and direct ones of the same person stay in order', async () => {
  const { number, ana, phone } = stage;
  for (const n of [1, 3]) {
    await ana.writesToList(LIST, [phone.number], `${n}`);
    await ana.writes(`${n + 1}`, { to: phone.number });
  }
  await number.text('4');
  const texts = number.rows.inbound.map(({ text }) => text).filter((text) => /^[1-4]$/.test(text ?? ''));
  expect(texts).toEqual(['1', '2', '3', '4']);
});

test('a message that cannot be decrypted at first comes again', async () => {
  const { network, number, ana, phone } = stage;
  const options = { garbled: 1 };
  const { id } = await network.call('writeToList', {
    ...{ from: ana.number, list: LIST, to: [phone.number], message: { conversation: 'again' }, options },
  });
  expect(await number.gets(id)).toMatchObject({ text: 'again', from_me: false });
});

test.each(['lid', 'pn'] as const)('the own list, written on the phone, by %s', async (addressing) => {
  const { number, ana, phone } = stage;
  await phone.behaves({ addressing });
  const id = await phone.writesToList(LIST, [ana.number], 'Our news');
  expect(await number.gets(id)).toMatchObject({
    chat: LIST,
    from: phone.jid,
    from_me: true,
    text: 'Our news',
  });
});

test('a status post is no conversation, and is counted', async () => {
  const { network, number, ana, phone } = stage;
  const message = { conversation: 'status' };
  await network.call('writeToList', {
    from: ana.number,
    list: 'status@broadcast',
    to: [phone.number],
    message,
  });
  await ana.writes('after it', { to: phone.number });
  await number.text('after it');
  expect(number.rows.inbound.some(({ text }) => text === 'status')).toBe(false);
  expect(number.rows.ignored).toContain('no_conversation');
});

test('the network reports no protocol errors', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});
