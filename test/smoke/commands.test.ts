import { randomBytes } from 'node:crypto';
import { customerWith, newKey, type Account } from '../support/gateway/customer.js';
import { SharedGateway } from './shared-gateway.js';
import { testPhone } from '../support/gateway/traffic.js';

test('applies an account, its policy and its key that were created by the CLI', async () => {
  const gateway = SharedGateway.get();
  const name = `commands ${randomBytes(4).toString('hex')}`;
  const account = await gateway.gwk<Account>('account', 'create', name, '--requests-per-minute', '1000');
  await gateway.gwk('policy', 'set', '--account', name, '--json', '{"new_contacts_per_day": 1}');
  const { client } = customerWith(gateway, account, await newKey(gateway, name, 'all'));
  const { id } = await client.createInstance('one');
  const answers = [];
  for (const index of [1, 2]) answers.push(await client.sendText(id, testPhone(index), 'oi'));
  expect(answers.map(({ status }) => status)).toEqual([202, 429]);
  expect(answers.map(({ headers }) => headers['ratelimit-limit'])).toEqual(['1000', '1000']);
});
