import { randomBytes } from 'node:crypto';
import { decodeCommand, encodeCommand, type Command } from './commands.js';

const key = randomBytes(32);
const command: Command = {
  id: 'c1',
  name: 'restart',
  args: '{}',
  deadline: 1_700_000_000_000,
  requester: 'api-1',
};

test('decodes an encoded command', () => {
  expect(decodeCommand(encodeCommand(command, key), key)).toEqual(command);
});

test.each(['id', 'name', 'args', 'deadline', 'requester'])('rejects an entry with a changed %s', (field) => {
  const fields = encodeCommand(command, key);
  const changed = { name: 'logout', deadline: '1' }[field] ?? 'other';
  expect(decodeCommand({ ...fields, [field]: changed }, key)).toBeNull();
});

test('hides the arguments in the entry', () => {
  const fields = encodeCommand({ ...command, args: '{"phone":"5511987654321"}' }, key);
  expect(JSON.stringify(fields)).not.toContain('5511987654321');
  expect(fields['args']).not.toBe(encodeCommand(command, key)['args']);
});

test.each([
  ['another key', encodeCommand(command, randomBytes(32))],
  ['arguments in plain text', { ...encodeCommand(command, key), args: command.args }],
  ['an unknown name', encodeCommand({ ...command, name: 'format-disk' as 'live' }, key)],
  ['an empty entry', {}],
])('rejects %s', (_name, fields) => {
  expect(decodeCommand(fields, key)).toBeNull();
});
