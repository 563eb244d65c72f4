import type { MessageOut } from '@gwk/core/resources/message';
import { openNumber, type NumberStage } from './number-stage.js';
import { until } from '../support/wait.js';

let stage: NumberStage;
beforeAll(async () => {
  stage = await openNumber('number');
});

const sends = (text: string): Promise<MessageOut> =>
  stage.customer.client.acceptedText(stage.id, stage.ana.number, text);
const received = () => stage.eventsOf('message.received');

test('pairs by the QR code from the API, and connects', async () => {
  const { qr } = await stage.pair();
  expect(qr!.image).toMatch(/^data:image\/png/);
  const [paired] = await stage.eventsOf('instance.paired');
  expect(paired!.data).toMatchObject({ jid: stage.phone.jid, platform: 'android' });
});

test('sends a message that becomes sent, delivered and read', async () => {
  const { id } = await sends('oi, Ana');
  await stage.ana.reads(await stage.ana.receives('oi, Ana'));
  const isRead = async () => (await stage.customer.client.message(id)).status === 'read';
  await until(isRead, { what: 'the message is read' });
});

test('receives a message', async () => {
  await stage.ana.writes('oi, loja', { to: stage.phone.number });
  await until(async () => (await received()).length === 1, { what: 'the message is received' });
  const [event] = await received();
  expect(event!.data).toMatchObject({ text: 'oi, loja', chat: { phone: stage.ana.number } });
});

test('reports a ban with its end', async () => {
  await stage.network.ban(stage.phone.number, { minutes: 60 });
  await stage.stateIs('banned');
  const [banned] = await stage.eventsOf('instance.banned');
  expect(banned!.data).toMatchObject({ code: '101', expires_at: expect.any(String) as string });
});

test('the network saw no protocol violation, and no log contains a key', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
  const words = /Closing session|privKey|rootKey/;
  expect(stage.gateway.logs().filter(({ line }) => words.test(line))).toEqual([]);
});
