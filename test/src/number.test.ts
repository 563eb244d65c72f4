import type { InstanceOut } from '@gwk/core/resources/instance';
import type { MessageOut } from '@gwk/core/resources/message';
import type { PairingOut } from '@gwk/core/resources/pairing';
import { MEDIA_CERTIFICATE } from '@gwk/network/media/certificate';
import type { Person } from '@gwk/network/control/client';
import { startNetwork, type RunningNetwork } from '@gwk/network/start';
import { newCustomer, type Customer } from './harness/customer.js';
import { Gateway } from './harness/gateway.js';
import { until } from './harness/wait.js';

/** A number on the real protocol, through real processes: its engine speaks to the simulated network. */
let running: RunningNetwork;
let gateway: Gateway;
let customer: Customer;
let phone: Person;
let ana: Person;
let id: string;

beforeAll(async () => {
  running = await startNetwork();
  const operator = {
    GWK_OPERATOR_NETWORK_URL: running.url,
    GWK_OPERATOR_NETWORK_ROOT: running.root.toString('hex'),
    GWK_OPERATOR_NETWORK_CA: MEDIA_CERTIFICATE.cert,
  };
  gateway = await Gateway.start({ settings: { operator } });
  customer = await newCustomer(gateway, 'number');
  phone = await running.client.phone('5511900000001', { name: 'Shop' });
  ana = await running.client.contact('5511900000002', { name: 'Ana' });
  const body = { name: 'shop', kind: 'web' };
  ({ id } = await customer.client.expect<InstanceOut>(201, 'POST', '/v1/instances', { body }));
}, 120_000);
afterAll(async () => {
  customer?.close();
  await gateway?.stop();
  await running?.close();
}, 60_000);

const stateIs = (state: string) =>
  until(async () => (await customer.client.instance(id)).state === state, { what: `it is ${state}` });
const eventsOf = (type: string) => customer.client.events({ instance_id: id, type });

async function sends(text: string): Promise<MessageOut> {
  return customer.client.acceptedText(id, ana.number, text);
}

test('is paired by the QR that the API shows, and connects', async () => {
  const { qr } = await customer.client.expect<PairingOut>(200, 'POST', `/v1/instances/${id}/pairing`);
  expect(qr!.image).toMatch(/^data:image\/png/);
  await phone.scan(qr!.code);
  await stateIs('connected');
  const [paired] = await eventsOf('instance.paired');
  expect(paired!.data).toMatchObject({ jid: phone.jid, platform: 'android' });
});

test('sends, and its message becomes sent, delivered and read', async () => {
  const { id: messageId } = await sends('oi, Ana');
  const received = await ana.receives('oi, Ana');
  await ana.reads(received);
  await until(
    async () =>
      (await customer.client.expect<MessageOut>(200, 'GET', `/v1/messages/${messageId}`)).status === 'read',
    { what: 'it is read' },
  );
});

test('receives', async () => {
  await ana.writes('oi, loja', { to: phone.number });
  await until(async () => (await eventsOf('message.received')).length === 1, { what: 'it is received' });
  const [event] = await eventsOf('message.received');
  expect(event!.data).toMatchObject({ text: 'oi, loja', chat: { phone: ana.number } });
});

test('lives on when its engine is killed, without a new pairing', async () => {
  const { pid } = await gateway.engine();
  process.kill(pid, 'SIGKILL');
  await ana.writes('are you there?', { to: phone.number });
  await sends('here again');
  await ana.receives('here again');
  await until(async () => (await eventsOf('message.received')).length === 2, {
    what: 'the second is received',
  });
  expect((await running.client.receipts()).filter(({ type }) => type === 'retry')).toEqual([]);
  expect(await eventsOf('instance.paired')).toHaveLength(1);
}, 60_000);

test('a ban is the state of the number, with its end', async () => {
  await running.client.ban(phone.number, { minutes: 60 });
  await stateIs('banned');
  const [banned] = await eventsOf('instance.banned');
  expect(banned!.data).toMatchObject({ code: '101', expires_at: expect.any(String) as string });
});

test('the network has nothing to complain of, and no log says a word of a key', async () => {
  expect((await running.client.status()).violations).toEqual([]);
  const lines = [...gateway.logs().values()].flat().join('\n');
  expect(lines).not.toMatch(/Closing session|privKey|rootKey/);
});
