import { makeReturnAddress, parseKeyRequest, shortenChallenge } from './key-request.js';

const CHALLENGE = `0a1bff42${'0'.repeat(56)}`;
const fragmentOf = (more: Record<string, string>) =>
  `#${String(new URLSearchParams({ challenge: CHALLENGE, port: '4711', name: 'gwk on laptop', ...more }))}`;

test.each([
  ['a request', {}, { name: 'gwk on laptop' }],
  ['a name with a separator', { name: 'Ana & Rui #1' }, { name: 'Ana & Rui #1' }],
  ['the highest port', { port: '65535' }, { port: 65_535 }],
  ['a name that changes the direction', { name: ' a\u202eb\u0000c\u200b ' }, { name: 'abc' }],
  ['a long name of pairs of units', { name: '🐎'.repeat(81) }, { name: '🐎'.repeat(80) }],
  ['no name', { name: '' }, { name: '' }],
])('reads %s', (_, more, expected) => {
  const read = { challenge: CHALLENGE, port: 4711, name: 'gwk on laptop', ...expected };
  expect(parseKeyRequest(fragmentOf(more))).toEqual(read);
});

test.each([
  ['nothing', ''],
  ['a short challenge', fragmentOf({ challenge: CHALLENGE.slice(1) })],
  ['a challenge of other characters', fragmentOf({ challenge: CHALLENGE.replace('a', 'g') })],
  ['no port', fragmentOf({ port: '' })],
  ['a port of the system', fragmentOf({ port: '1023' })],
  ['a port that does not exist', fragmentOf({ port: '65536' })],
  ['a port with a host', fragmentOf({ port: '80@evil.example' })],
  ['a port in another notation', fragmentOf({ port: '1e4' })],
])('refuses %s', (_, fragment) => expect(parseKeyRequest(fragment)).toBeNull());

test('leads back to this machine, and shows the code of the terminal', () => {
  const request = parseKeyRequest(fragmentOf({}))!;
  expect(makeReturnAddress(request, 'a&b.90')).toBe('http://127.0.0.1:4711/?code=a%26b.90');
  expect(shortenChallenge(request.challenge)).toBe('0A1B-FF42');
});
