import {
  Curve,
  DEFAULT_CONNECTION_CONFIG,
  generateSignalPubKey,
  initAuthCreds,
  signedKeyPair,
} from '@whiskeysockets/baileys';
import { createLogger } from '@gwk/core/process/log';
import { Rows } from '@gwk/test/support/engine/simulated-instance';
import '../patches/repairs.js';
import { Journal } from '../receive/journal.js';
import { createSignalRepository, type AheadRepository } from './signal-repository.js';
import { SessionStore } from './store.js';

const log = createLogger('engine', 'silent');
const PHONE = '5511900000001';
const UNKNOWN = '5511900000002';
const LID = '99000000000001';

let rows: Rows;
let store: SessionStore;
/** Phone numbers whose LIDs were asked of the network. */
let asked: string[];
let ours: AheadRepository;
let stock: AheadRepository;
beforeEach(() => {
  rows = new Rows();
  store = new SessionStore(rows.context().session, () => undefined);
  asked = [];
  const auth = { creds: initAuthCreds(), keys: store } as never;
  const lookUp = async (phones: string[]) => void asked.push(...phones);
  ours = createSignalRepository(store, new Journal(store, () => undefined))(
    auth,
    log,
    lookUp,
  ) as AheadRepository;
  stock = DEFAULT_CONNECTION_CONFIG.makeSignalRepository(
    {
      ...(auth as object),
      keys: Object.assign(store, {
        set: store.write.bind(store),
        transaction: (work: () => unknown) => work(),
      }),
    } as never,
    log,
    lookUp,
  ) as AheadRepository;
});

afterEach(() => {
  ours.close?.();
  stock.close?.();
});

/** Begins a session with a device. */
async function begin(jid: string): Promise<void> {
  const identity = Curve.generateKeyPair();
  const { keyPair, keyId, signature } = signedKeyPair(identity, 1);
  const publicKey = generateSignalPubKey(keyPair.public) as Buffer;
  const identityKey = generateSignalPubKey(identity.public) as Buffer;
  await ours.injectE2ESession({
    jid,
    session: {
      registrationId: 5,
      identityKey,
      signedPreKey: { keyId, publicKey, signature },
    },
  });
}

const map = (phone: string, lid: string) =>
  ours.lidMapping.storeLIDPNMappings([{ pn: `${phone}@s.whatsapp.net`, lid: `${lid}@lid` }]);

const JIDS = [PHONE, `${PHONE}:0`, `${PHONE}:3`].map((user) => `${user}@s.whatsapp.net`);

test('finds the LID of each device of a phone number, as stock does', async () => {
  await map(PHONE, LID);
  for (const jid of [...JIDS, `${PHONE}:99@hosted`, `${PHONE}@elsewhere`]) {
    const [found] = (await stock.lidMapping.getLIDsForPNs([jid])) ?? [];
    expect(await ours.lidMapping.getLIDForPN(jid)).toBe(found?.lid ?? null);
  }
  await map(PHONE, `${LID}2`);
  expect(await ours.lidMapping.getLIDForPN(`${PHONE}:3@s.whatsapp.net`)).toBe(`${LID}2:3@lid`);
});

test('asks the network for the LID of an unknown phone number', async () => {
  expect(await ours.lidMapping.getLIDForPN(`${UNKNOWN}@s.whatsapp.net`)).toBeNull();
  expect(asked).toEqual([`${UNKNOWN}@s.whatsapp.net`]);
});

test.each([
  ['a phone number with a LID', `${PHONE}@s.whatsapp.net`],
  ['a device of it', `${PHONE}:3@s.whatsapp.net`],
  ['a LID', `${LID}@lid`],
  ['a phone number without a LID', `${UNKNOWN}@s.whatsapp.net`],
])('finds a session with %s, as stock does', async (_whom, jid) => {
  await map(PHONE, LID);
  expect(await ours.validateSession(jid)).toMatchObject({ exists: false });
  await begin(jid);
  const { exists } = await stock.validateSession(jid);
  expect(await ours.validateSession(jid)).toEqual({ exists });
  expect(exists).toBe(true);
});

test.each([
  ['a closed session', (session: Stored) => (session.indexInfo.closed = 1)],
  ['a session without a registration id', (session: Stored) => delete session.registrationId],
  ['a record of a later version', (_session: Stored, record: Stored) => (record.version = 'v2')],
])('finds no session in %s, as stock does', async (_what, change) => {
  const jid = `${LID}@lid`;
  await begin(jid);
  const { [`${LID}_1.0`]: record } = await store.read('session', [`${LID}_1.0`]);
  const changed = structuredClone(record) as Stored & { _sessions: Record<string, Stored> };
  change(Object.values(changed._sessions)[0]!, changed);
  await store.write({ session: { [`${LID}_1.0`]: changed } });
  expect((await stock.validateSession(jid)).exists).toBe(false);
  expect((await ours.validateSession(jid)).exists).toBe(false);
});

interface Stored {
  indexInfo: { closed: number };
  registrationId?: number;
  version?: string;
}

test('finds no session with an address that is none', async () => {
  expect(await ours.validateSession('@s.whatsapp.net')).toMatchObject({ exists: false });
  expect(await ours.validateSession(`${PHONE}:99@s.whatsapp.net`)).toMatchObject({ exists: false });
});

const freeze = (value: unknown): void => {
  if (typeof value !== 'object' || value === null) return;
  Object.freeze(value);
  Object.values(value).forEach(freeze);
};

test('a session that was read stays as it is while libsignal writes with it', async () => {
  const jid = `${LID}@lid`;
  const name = `${LID}_1.0`;
  await begin(jid);
  const ciphertexts = new Set<string>();
  for (let count = 0; count < 3; count++) {
    const { [name]: before } = await store.read('session', [name]);
    expect((await store.read('session', [name]))[name]).toBe(before);
    const text = JSON.stringify(before);
    freeze(before);
    const { ciphertext } = await ours.encryptMessage({ jid, data: Buffer.from('a text') });
    ciphertexts.add(Buffer.from(ciphertext).toString('hex'));
    expect(JSON.stringify(before)).toBe(text);
    const { [name]: after } = await store.read('session', [name]);
    expect(JSON.stringify(after)).not.toBe(text);
    expect(JSON.stringify(after)).toBe(Buffer.from(rows.of('session')[0]!.value!, 'base64').toString());
  }
  expect(ciphertexts.size).toBe(3);
});

test('a session that a sender has made large is not kept decoded', async () => {
  const large = { _sessions: {}, version: 'v1', padding: 'a'.repeat(8_000) };
  await store.write({ session: { small: { _sessions: {}, version: 'v1' }, large } });
  const read = async (name: string) => (await store.read('session', [name]))[name];
  expect(await read('small')).toBe(await read('small'));
  expect(await read('large')).toEqual(large);
  expect(await read('large')).not.toBe(await read('large'));
});
