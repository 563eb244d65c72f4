import { toPublicId } from '@gwk/core/ids/ids';
import type { Credential } from '../accounts/caller.js';
import type { Exchange } from '../http/exchange.js';
import { AccessLog } from './access-log.js';

const ID = '0198c0de-0000-7000-8000-000000000001';

/** The line of a request. */
function logOf(fields: object): Record<string, unknown> {
  let lines = '';
  const log = new AccessLog((text) => (lines += text));
  const empty = {
    requestId: 'r',
    operation: null,
    caller: null,
    session: null,
    refusal: null,
    subject: null,
  };
  log.add({ ...empty, ...fields } as unknown as Exchange, 200, 1);
  log.flush();
  return JSON.parse(lines) as Record<string, unknown>;
}
const callerOf = (credential: Credential) => ({ caller: { accountName: 'acme', credential } });

test('a request by key has the id of the key', () => {
  const line = logOf(callerOf({ kind: 'key', id: ID }));
  expect(line).toMatchObject({ account_name: 'acme', key_id: toPublicId('apiKey', ID) });
  expect(line).not.toHaveProperty('user_id');
});

test('a request by session has the id of the person, with and without an account', () => {
  const session = { userId: ID };
  const user_id = toPublicId('user', ID);
  expect(logOf({ session })).toMatchObject({ user_id });
  expect(logOf({ session })).not.toHaveProperty('account_name');
  const named = logOf({ session, ...callerOf({ kind: 'session', id: ID, userId: ID }) });
  expect(named).toMatchObject({ account_name: 'acme', user_id });
});

test('a request without either has neither id', () => {
  expect(Object.keys(logOf({}))).not.toEqual(expect.arrayContaining(['user_id']));
});
