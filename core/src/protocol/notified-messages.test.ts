import { randomBytes } from 'node:crypto';
import { newUuid, parseUuidTime } from '../ids/ids.js';
import {
  decodeNotified,
  encodeNotified,
  MAX_NOTIFIED_BYTES,
  type NotifiedMessage,
} from './notified-messages.js';

const message = (content: string): NotifiedMessage => ({
  message_id: 'a',
  conversation_id: 'c',
  chat: '551@s.whatsapp.net',
  wa_message_id: '3EB0',
  type: 'text',
  content,
});
const key = randomBytes(32);
const id = newUuid();
const now = parseUuidTime(id);

test('only the key of the instance and the message of the notification decrypt it', () => {
  const encrypted = encodeNotified([message('hello')], id, key)!;
  expect(Buffer.from(encrypted, 'base64').includes('hello')).toBe(false);
  expect(decodeNotified(encrypted, id, { key, now })).toEqual([message('hello')]);
  expect(decodeNotified(encrypted, newUuid(), { key, now })).toBeNull();
  expect(decodeNotified(encrypted, id, { key: randomBytes(32), now })).toBeNull();
  for (const damaged of ['', 'AAAA', `A${encrypted}`])
    expect(decodeNotified(damaged, id, { key, now })).toBeNull();
});

test('long texts are left to the claim', () => {
  expect(encodeNotified([message('x'.repeat(MAX_NOTIFIED_BYTES))], id, key)).toBeNull();
  expect(encodeNotified([message('x'.repeat(MAX_NOTIFIED_BYTES / 2))], id, key)).not.toBeNull();
  expect(encodeNotified([message('ã'.repeat(MAX_NOTIFIED_BYTES / 2))], id, key)).toBeNull();
});

test('an old notification is left to the claim', () => {
  const encrypted = encodeNotified([message('hello')], id, key)!;
  expect(decodeNotified(encrypted, id, { key, now: now + 60_000 })).not.toBeNull();
  expect(decodeNotified(encrypted, id, { key, now: now + 60_001 })).toBeNull();
  // The clock of the engine may be behind.
  expect(decodeNotified(encrypted, id, { key, now: now - 600_000 })).not.toBeNull();
});
