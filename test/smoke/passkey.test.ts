import type { PairingOut } from '@gwk/core/resources/pairing';
import { openStream } from '../support/sse.js';
import { until } from '../support/wait.js';
import { openNumber } from './number-stage.js';

test('a phone that requires a passkey is linked by the interface alone, sends and receives', async () => {
  const { gateway, customer, phone, ana, id, stateIs } = await openNumber('passkey');
  await gateway.gwk('account', 'allow-passkeys', customer.account.name);
  const at = `/v1/instances/${id}/pairing`;
  const read = () => customer.client.expect<PairingOut>(200, 'GET', at);
  const { qr } = await customer.client.expect<PairingOut>(200, 'POST', at);
  const stream = openStream(`${gateway.urls[0]!}${at}/stream`, customer.key.api_key);
  await phone.behaves({ needsPasskey: true });
  await expect(phone.scan(qr!.code)).rejects.toThrow('without a passkey');
  // The stream shows the present step: one that is over before the stream looks is not shown.
  await until(() => stream.events.some(({ event }) => event === 'passkey'), {
    what: 'the phone asks for its passkey',
  });
  const { options } = (await read()).passkey!;
  const credential = await phone.asserts(options!);
  await customer.client.expect<PairingOut>(200, 'POST', `${at}/passkey`, { body: { credential } });
  await stateIs('connected');
  await until(() => stream.state.ended, { what: 'the stream ends' });
  const names = stream.events.map(({ event }) => event).filter((name) => name !== 'qr');
  expect(names).toEqual(['passkey', 'paired', 'connected']);

  await customer.client.expect(202, 'POST', '/v1/messages', {
    body: { instance_id: id, to: ana.number, type: 'text', text: { body: 'hello' } },
  });
  expect(await ana.receives('hello')).toMatchObject({ from: phone.number, fate: 'shown' });
  await ana.writes('oi', { to: phone.number });
  const received = () => customer.client.events({ instance_id: id, type: 'message.received' });
  await until(async () => (await received()).length === 1, { what: 'the message is received' });
});
