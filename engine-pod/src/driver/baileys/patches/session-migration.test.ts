import { DEFAULT_CONNECTION_CONFIG, initAuthCreds } from '@whiskeysockets/baileys';
import { mergeSessionRecords, listSessionMoves, type StoredRecord } from './session-migration.js';

const OPEN = -1;
const NOW = 1_000;
const trace = (): void => undefined;
const record = (sessions: Record<string, number>): StoredRecord => ({
  _sessions: Object.fromEntries(
    Object.entries(sessions).map(([key, closed]) => [key, { indexInfo: { closed } }]),
  ),
});

test.each<[string, Record<string, number> | null, Record<string, number>, Record<string, number>]>([
  ['into nothing: as it is', null, { a: OPEN, b: 5 }, { a: OPEN, b: 5 }],
  [
    'into one with an open session: that one stays open',
    { c: OPEN },
    { a: OPEN, b: 5 },
    { a: NOW, b: 5, c: OPEN },
  ],
  ['into one without: the other stays open', { c: 7 }, { a: OPEN }, { a: OPEN, c: 7 }],
  ['of a session in both: as it is where it goes', { a: OPEN }, { a: 5 }, { a: OPEN }],
])('merging %s', (_, into, from, expected) => {
  expect(mergeSessionRecords(into ? record(into) : undefined, record(from), NOW)).toEqual(record(expected));
});

test('sessions move with the known devices, the phone and the device that wrote', () => {
  expect(listSessionMoves('5511:3@s.whatsapp.net', '99@lid', ['0', '7'])).toEqual([
    { from: '5511.0', to: '99_1.0' },
    { from: '5511.7', to: '99_1.7' },
    { from: '5511.3', to: '99_1.3' },
    { from: '5511_128.99', to: '99_129.99' },
  ]);
});

test.each([
  ['99@lid', '5511@s.whatsapp.net'],
  ['5511@hosted', '99@lid'],
])('from %s to %s nothing is moved here', (from, to) => {
  expect(listSessionMoves(from, to, [])).toBeNull();
});

/** A record with one open session, as libsignal stores it. */
const stored = (key: string) => ({
  version: 'v1',
  _sessions: {
    [key]: {
      registrationId: 1,
      currentRatchet: {
        ephemeralKeyPair: { pubKey: '', privKey: '' },
        lastRemoteEphemeralKey: '',
        rootKey: '',
      },
      indexInfo: { baseKey: '', closed: OPEN, remoteIdentityKey: '' },
      _chains: {},
    },
  },
});

test('stock Baileys discards the sessions under the LID (when this fails, remove the patch)', async () => {
  const rows: Record<string, Record<string, unknown>> = {
    'device-list': { 5511: ['0'] },
    session: { '5511.0': stored('a'), '99_1.0': stored('c') },
  };
  const keys = {
    get: async (type: string, ids: string[]) => Object.fromEntries(ids.map((id) => [id, rows[type]?.[id]])),
    set: async (data: typeof rows) => {
      for (const [type, values] of Object.entries(data)) rows[type] = { ...rows[type], ...values };
    },
    transaction: (work: () => Promise<unknown>) => work(),
    isInTransaction: () => false,
  };
  const logger = {
    level: 'silent',
    child: () => logger,
    trace,
    debug: trace,
    info: trace,
    warn: trace,
    error: trace,
  };
  const auth = { creds: initAuthCreds(), keys } as never;
  const stock = DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, logger, async () => undefined);
  await stock.migrateSession('5511@s.whatsapp.net', '99@lid');
  expect(Object.keys((rows['session']!['99_1.0'] as StoredRecord)._sessions)).toEqual(['a']);
});
