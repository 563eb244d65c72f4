import { BufferJSON } from '@whiskeysockets/baileys';
import { decodeValue, encodeValue } from './codec.js';

/** As libsignal writes it: numbered keys, and bytes as text. */
const SESSION = {
  _sessions: {
    'BXk=': {
      registrationId: 7,
      currentRatchet: { ephemeralKeyPair: { pubKey: 'BQ==', privKey: 'Bg==' }, previousCounter: 0 },
      _chains: {
        'Bc8=': { chainKey: { counter: 3, key: 'AA==' }, chainType: 2, messageKeys: { 1: 'AQ==' } },
      },
    },
  },
  version: 'v1',
};
const AS_BEFORE = (value: unknown) => Buffer.from(JSON.stringify(value, BufferJSON.replacer));

test.each([
  ['a session', 'session', SESSION],
  ['a session that holds bytes after all', 'session', { ...SESSION, key: Buffer.from([1, 2, 255]) }],
  ['a key pair', 'pre-key', { public: Buffer.from([1, 2]), private: Buffer.from([3, 4]) }],
  ['a key of a group', 'sender-key', Buffer.from('[{}]')],
  ['devices', 'device-list', ['0', '12']],
])('%s comes back as it was', (_what, type, value) => {
  expect(decodeValue(type, encodeValue(type, value))).toEqual(value);
  expect(decodeValue(type, AS_BEFORE(value))).toEqual(value);
});
