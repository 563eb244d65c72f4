import { createRequire } from 'node:module';
import * as libsignal from 'libsignal';
import { DecryptionBudget } from './decryption-budget.js';
import './repairs.js';

/** How much a sender can make an engine derive and keep. */
interface Pair {
  pubKey: Buffer;
  privKey: Buffer;
}
interface Parts {
  crypto: { calculateMAC: (key: Buffer, data: Buffer) => Buffer };
  curve: {
    generateKeyPair: () => Pair;
    calculateSignature: (key: Buffer, data: Buffer) => Buffer;
  };
}
const part = createRequire(import.meta.url);
const crypto = part('libsignal/src/crypto.js') as Parts['crypto'];
const curve = part('libsignal/src/curve.js') as Parts['curve'];

/** Keys derived so far. */
let derived = 0;
const { calculateMAC } = crypto;
beforeAll(() => {
  crypto.calculateMAC = (key, data) => {
    derived += 1;
    return calculateMAC(key, data);
  };
});
beforeEach(() => (derived = 0));
afterAll(() => {
  crypto.calculateMAC = calculateMAC;
});

interface Record {
  sessions: { [base: string]: { _chains: { [key: string]: { messageKeys: object } } } };
}

/** A device as libsignal sees it. Its sessions are kept as text, like an engine's. */
class Device {
  readonly identity = curve.generateKeyPair();
  readonly signed = curve.generateKeyPair();
  readonly sessions = new Map<string, string>();

  readonly #storage = {
    loadSession: async (id: string) => {
      const text = this.sessions.get(id);
      return text && libsignal.SessionRecord.deserialize(JSON.parse(text) as never);
    },
    storeSession: async (id: string, record: libsignal.SessionRecord) =>
      void this.sessions.set(id, JSON.stringify(record.serialize())),
    isTrustedIdentity: () => true,
    loadPreKey: async () => undefined,
    removePreKey: () => undefined,
    loadSignedPreKey: () => this.signed,
    getOurRegistrationId: () => 1,
    getOurIdentity: () => this.identity,
  } as unknown as libsignal.SignalStorage;

  constructor(readonly name: string) {}

  cipherFor(name: string) {
    return new libsignal.SessionCipher(this.#storage, new libsignal.ProtocolAddress(name, 0));
  }

  async begin({ name, identity, signed }: Device): Promise<void> {
    const builder = new libsignal.SessionBuilder(this.#storage, new libsignal.ProtocolAddress(name, 0));
    const signature = curve.calculateSignature(identity.privKey, signed.pubKey);
    const bundle = { registrationId: 1, identityKey: identity.pubKey, signedPreKey: { keyId: 1, publicKey: signed.pubKey, signature } }; // prettier-ignore
    await builder.initOutgoing(bundle as never);
  }

  async write(to: Device, text = 'a text'): Promise<{ type: number; bytes: Buffer }> {
    const { type, body } = await this.cipherFor(to.name).encrypt(Buffer.from(text));
    return { type, bytes: Buffer.from(body as unknown as Uint8Array) };
  }

  async read(from: Device, { type, bytes }: { type: number; bytes: Buffer }): Promise<string> {
    const cipher = this.cipherFor(from.name);
    const plain =
      type === 3 ? cipher.decryptPreKeyWhisperMessage(bytes) : cipher.decryptWhisperMessage(bytes);
    return (await plain).toString();
  }

  recordOf({ name }: Device): Record {
    return libsignal.SessionRecord.deserialize(
      JSON.parse(this.sessions.get(`${name}.0`)!) as never,
    ) as unknown as Record;
  }
}

let count = 0;
/** Two devices that have written to each other. */
async function acquainted(): Promise<{ shop: Device; eve: Device }> {
  const [shop, eve] = [new Device('shop'), new Device(`eve${++count}`)];
  await eve.begin(shop);
  await shop.read(eve, await eve.write(shop));
  await eve.read(shop, await shop.write(eve));
  await shop.read(eve, await eve.write(shop));
  return { shop, eve };
}

const garble = ({ type, bytes }: { type: number; bytes: Buffer }) => {
  const garbled = Buffer.from(bytes);
  garbled[bytes.length - 1]! ^= 1;
  return { type, bytes: garbled };
};

async function skip(from: Device, to: Device, times: number): Promise<void> {
  for (let n = 0; n < times; n++) await from.write(to);
}

test("limits the cost of far-ahead garbage and still decrypts its sender's messages", async () => {
  const { shop, eve } = await acquainted();
  const before = eve.sessions.get('shop.0')!;
  await skip(eve, shop, 1_900);
  const far = garble(await eve.write(shop));
  derived = 0;
  let refused = 0;
  for (let n = 0; n < 100; n++) await shop.read(eve, far).catch(() => (refused += 1));
  expect(refused).toBe(100);
  // Two for each step; stock libsignal derives 380,000.
  expect(derived).toBeLessThan(30_000);
  eve.sessions.set('shop.0', before);
  expect(await shop.read(eve, await eve.write(shop, 'the next'))).toBe('the next');
});

test('still decrypts far-ahead messages of other senders', async () => {
  const { shop, eve } = await acquainted();
  await skip(eve, shop, 1_500);
  expect(await shop.read(eve, await eve.write(shop, 'after a gap'))).toBe('after a gap');
});

test('tries garbage in the one session it names, and in few sessions when it names none', async () => {
  const { shop, eve } = await acquainted();
  for (let n = 0; n < 12; n++) {
    eve.sessions.clear();
    await eve.begin(shop);
    await shop.read(eve, await eve.write(shop));
    await eve.read(shop, await shop.write(eve));
    await shop.read(eve, await eve.write(shop));
  }
  expect(Object.keys(shop.recordOf(eve).sessions).length).toBeGreaterThan(10);
  const known = garble(await eve.write(shop));
  derived = 0;
  await expect(shop.read(eve, known)).rejects.toThrow();
  expect(derived).toBeLessThan(20);
  // Part of a turn that this side has not seen.
  await eve.read(shop, await shop.write(eve));
  await skip(eve, shop, 1_900);
  const unknown = garble(await eve.write(shop));
  derived = 0;
  for (let n = 0; n < 20; n++) await shop.read(eve, unknown).catch(() => undefined);
  expect(derived).toBeLessThan(50_000);
});

test('keeps a limited number of skipped keys, the latest, and decrypts an overtaken message', async () => {
  const { shop, eve } = await acquainted();
  const overtaken = [await eve.write(shop)];
  for (let round = 0; round < 3; round++) {
    await skip(eve, shop, 950);
    overtaken.push(await eve.write(shop, `overtaken ${round}`));
    await shop.read(eve, await eve.write(shop));
  }
  const kept = Object.values(shop.recordOf(eve).sessions).flatMap(({ _chains }) =>
    Object.values(_chains).flatMap(({ messageKeys }) => Object.keys(messageKeys)),
  );
  expect(kept).toHaveLength(2_000);
  expect(await shop.read(eve, overtaken[3]!)).toBe('overtaken 2');
  await expect(shop.read(eve, overtaken[0]!)).rejects.toThrow();
});

test('keeps the latest chains of a long conversation', async () => {
  const { shop, eve } = await acquainted();
  for (let turn = 0; turn < 30; turn++) {
    expect(await shop.read(eve, await eve.write(shop, `${turn}`))).toBe(`${turn}`);
    expect(await eve.read(shop, await shop.write(eve, `${turn}`))).toBe(`${turn}`);
  }
  const [session] = Object.values(shop.recordOf(eve).sessions);
  expect(Object.keys(session!._chains).length).toBeLessThanOrEqual(7);
});

describe('the budget for messages that may be undecryptable', () => {
  const costs = (effort: DecryptionBudget, sender: string, steps: number): boolean => {
    try {
      effort.spend(sender, {}, steps);
      return true;
    } catch {
      return false;
    }
  };

  test('is limited per sender and in total, and starts again with each window', () => {
    let time = 0;
    const effort = new DecryptionBudget(() => time);
    const far = (sender: string) => costs(effort, sender, 2_000);
    expect(Array.from({ length: 8 }, () => far('eve'))).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(far('ana')).toBe(true);
    for (let n = 0; n < 40; n++) far(`eve ${n}`);
    expect(far('somebody')).toBe(false);
    expect(costs(effort, 'somebody', 100)).toBe(true);
    time = 60_000;
    expect(far('eve')).toBe(true);
  });

  test('counts all sessions that one message is tried in', () => {
    const effort = new DecryptionBudget();
    const message = {};
    for (let session = 0; session < 3; session++) effort.spend('eve', message, 2_000);
    expect(() => effort.spend('eve', message, 2_000)).toThrow('too far');
  });

  test('counts near messages only when they fail', () => {
    const effort = new DecryptionBudget();
    for (let n = 0; n < 10_000; n++) effort.spend('ana', {}, 1);
    expect(costs(effort, 'ana', 1_000)).toBe(true);
    for (let n = 0; n < 10_000; n++) effort.recordFailure('eve', 1);
    expect(costs(effort, 'eve', 1_000)).toBe(false);
  });
});
