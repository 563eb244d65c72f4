import { numberStage, until, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

let stage: NumberStage;
beforeAll(async () => {
  stage = await numberStage();
});
afterAll(() => stage.close());

test('pairs by QR code and reports it before it connects', () => {
  const { events } = stage.number;
  expect(events.map(({ kind }) => kind)).toEqual(['qr', 'paired', 'closed', 'opened']);
  expect(events[1]).toMatchObject({
    device: { jid: '5511900000001@s.whatsapp.net', business_name: null, platform: 'android' },
  });
});

test('sends a text and receives its receipts', async () => {
  const { number, ana } = stage;
  const { id } = await number.sendText(ana.jid, 'oi, Ana');
  const received = await ana.receives({ id });
  expect(received.text).toBe('oi, Ana');
  const statuses = () =>
    number.rows.receipts.filter(({ waMessageId }) => waMessageId === id).map(({ status }) => status);
  await until('delivery', () => statuses().includes('delivered') || undefined);
  await ana.reads(received);
  await until('reading', () => statuses().includes('read') || undefined);
});

test('receives one receipt for several messages', async () => {
  const { number, ana } = stage;
  const sent: string[] = [];
  for (const text of ['one', 'two', 'three']) sent.push((await number.sendText(ana.jid, text)).id);
  const [first = '', ...others] = sent;
  await ana.receives({ id: others.at(-1)! });
  await ana.reads({ id: first }, ...others);
  const read = () => number.rows.receipts.filter(({ status }) => status === 'read');
  await until('reading', () => sent.every((id) => read().some((of) => of.waMessageId === id)) || undefined);
  expect(read().some(({ participant }) => participant !== undefined)).toBe(false);
});

test('names the members of a group that confirm a message, each alone or in one receipt', async () => {
  const { number, network, phone, ana } = stage;
  const bia = await network.contact('5511900000005', { name: 'Bia' });
  await bia.behaves({ confirms: false });
  const group = await network.group('Team', [phone, ana, bia]);
  const { id } = await number.sendText(group, 'hello');
  for (const person of [ana, bia]) await person.receives({ id });
  await network.confirmTogether([ana.number, bia.number], id, true);
  const seen = () =>
    number.rows.receipts
      .filter(({ waMessageId }) => waMessageId === id)
      .map(({ status, participant }) => [status, participant]);
  await until('all receipts', () => seen().length >= 3 || undefined);
  expect(seen()).toEqual([
    ['delivered', ana.lidJid],
    ['read', ana.lidJid],
    ['read', bia.lidJid],
  ]);
});

test('receives a text', async () => {
  const { number, ana, phone } = stage;
  const id = await ana.writes('oi, loja', { to: phone.number });
  expect(await number.text('oi, loja')).toMatchObject({
    wa_message_id: id,
    type: 'text',
    from_me: false,
    from_name: 'Ana',
  });
});

test('a new engine continues with the stored session', async () => {
  const { number, ana, phone, network } = stage;
  await number.replace();
  const { id } = await number.sendText(ana.jid, 'still here');
  expect((await ana.receives({ id })).text).toBe('still here');
  await ana.writes('welcome back', { to: phone.number });
  await number.text('welcome back');
  const retries = (await network.receipts()).filter(({ type }) => type === 'retry');
  expect(retries).toEqual([]);
  expect((await network.status()).violations).toEqual([]);
});
