import { randomBytes } from 'node:crypto';
import { newUuid } from '@gwk/core/ids/ids';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { Cursors, type ListIdentity } from './cursor.js';

const keys = parseEncryptionKeys(randomBytes(32).toString('base64'));
const DAY = 86_400_000;
const list: ListIdentity = { accountId: newUuid(), route: 'GET /v1/messages', filters: { status: 'sent' } };
const id = newUuid();
const at = (time: number) => new Cursors(new Sealer(keys), () => time);
const issued = at(DAY).issue(list, id);
const flip = (text: string, place: number) =>
  text.slice(0, place) + (text[place] === 'A' ? 'B' : 'A') + text.slice(place + 1);

test('returns the id that the cursor was made for', () => {
  expect(at(DAY).read(list, issued)).toBe(id);
  expect(at(2 * DAY).read(list, issued)).toBe(id);
  expect(at(DAY).read(list, undefined)).toBeNull();
});

test('ignores the order of the filters', () => {
  const two = { ...list, filters: { since: 'x', status: 'sent' } };
  const same = { ...list, filters: { status: 'sent', since: 'x' } };
  expect(at(DAY).read(same, at(DAY).issue(two, id))).toBe(id);
});

test.each([
  ['an empty cursor', list, ''],
  ['a malformed cursor', list, 'abc'],
  ['a cursor that is too long', list, `${issued}A`],
  ['a cursor of another account', { ...list, accountId: newUuid() }, issued],
  ['a cursor of another list', { ...list, route: 'GET /v1/events' }, issued],
  ['a cursor of other filters', { ...list, filters: { status: 'failed' } }, issued],
  ['a cursor without the filters', { ...list, filters: {} }, issued],
  ['a cursor with a changed time', list, flip(issued, 3)],
  ['a cursor with a changed id', list, flip(issued, 20)],
  ['a cursor with a changed tag', list, flip(issued, 45)],
])('rejects %s', (_, identity, cursor) => {
  expect(() => at(DAY).read(identity, cursor)).toThrow('invalid-cursor');
});

test('rejects a cursor older than 24 hours and one from the future', () => {
  expect(() => at(2 * DAY + 1).read(list, issued)).toThrow('invalid-cursor');
  expect(() => at(0).read(list, issued)).toThrow('invalid-cursor');
});

test('rejects a cursor made with another key', () => {
  const other = new Cursors(new Sealer(parseEncryptionKeys(randomBytes(32).toString('base64'))), () => DAY);
  expect(() => other.read(list, issued)).toThrow('invalid-cursor');
});
