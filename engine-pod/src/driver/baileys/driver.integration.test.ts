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
