import { findBreach } from './matrix.js';

const problem = (code: string) => ({ type: `https://docs.example.org/problems/${code}` });
const READER = { scopes: ['events:read'] as const };

test.each([
  ['a result', ['GET', '/v1/messages?limit=1'], [200], 'listMessages answered 200'],
  ['that an id is absent', ['PATCH', '/v1/messages/msg_1'], [404, 'not-found'], 'editMessage answered'],
  ['a check of the body', ['POST', '/v1/messages'], [422, 'validation-error'], 'sendMessage answered'],
  ['a result of HEAD', ['HEAD', '/v1/messages'], [200], 'listMessages answered 200'],
  ['no right it has', ['GET', '/v1/events'], [403, 'insufficient-scope'], 'listEvents refused'],
  ['a result within its rights', ['GET', '/v1/events'], [200], null],
  ['a refusal', ['POST', '/v1/messages'], [403, 'insufficient-scope'], null],
  ['a public result', ['GET', '/v1/status/interactive'], [200], null],
  ['an unknown path', ['GET', '/v1/nothing'], [404, 'not-found'], null],
] as const)('a key with events:read that gets %s', (_, [method, path], [status, code], breach) => {
  const body = code === undefined ? {} : problem(code);
  const found = findBreach(READER, { method, path }, { status, body });
  expect(breach === null ? found : found?.startsWith(breach)).toBe(breach === null ? null : true);
});
