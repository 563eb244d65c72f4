import { readFileSync } from 'node:fs';
import * as baileys from '@whiskeysockets/baileys';
import * as groups from '@whiskeysockets/baileys/lib/Signal/Group/index.js';
import * as libsignal from 'libsignal';
import { FreshModules, requireFresh } from '@gwk/test/support/engine/fresh-modules';
import { silenceConsole } from './silence-console.js';
import './repairs.js';

/** The stock libraries. */
const stock = new FreshModules();
const stockCurve = await stock.load<Pick<typeof baileys, 'Curve'>>(
  '@whiskeysockets/baileys/lib/Utils/crypto.js',
);
const stockGroups = await stock.load<typeof groups>('@whiskeysockets/baileys/lib/Signal/Group/index.js');
const stockLibsignal = requireFresh<typeof libsignal>('libsignal');

describe('signatures', () => {
  const message = Buffer.from('a message');

  test('are accepted by stock Baileys, forged or not (when this fails, remove the repair)', () => {
    const { Curve } = stockCurve;
    const key = Curve.generateKeyPair();
    expect(Curve.verify(key.public, message, Buffer.alloc(64, 1))).toBe(true);
  });

  test('are refused when forged, once repaired', () => {
    const { Curve } = baileys;
    const key = Curve.generateKeyPair();
    const signature = Curve.sign(key.private, message);
    expect(Curve.verify(key.public, message, signature)).toBe(true);
    const forged = Buffer.from(signature);
    forged[3]! ^= 1;
    expect(Curve.verify(key.public, message, forged)).toBe(false);
    expect(Curve.verify(key.public, Buffer.from('another message'), signature)).toBe(false);
    expect(Curve.verify(key.public, message, Buffer.alloc(3))).toBe(false);
  });
});

describe('sender keys', () => {
  /** One group message overtakes another, and the sender's state is stored in between. */
  async function overtaken(library: typeof groups): Promise<Buffer> {
    const { GroupCipher, GroupSessionBuilder, SenderKeyName, SenderKeyRecord } = library;
    const store = () => {
      let stored: string | undefined;
      return {
        loadSenderKey: async () =>
          stored === undefined ? new SenderKeyRecord() : SenderKeyRecord.deserialize(Buffer.from(stored)),
        storeSenderKey: async (_: unknown, record: { serialize: () => unknown }) => {
          stored = JSON.stringify(record.serialize());
        },
      };
    };
    const name = new SenderKeyName('group', { id: 'ana', deviceId: 0, toString: () => 'ana.0' });
    const [sender, receiver] = [store(), store()];
    const key = await new GroupSessionBuilder(sender).create(name);
    await new GroupSessionBuilder(receiver).process(name, key);
    const written = [];
    for (const text of ['one', 'two'])
      written.push(await new GroupCipher(sender, name).encrypt(Buffer.from(text)));
    await new GroupCipher(receiver, name).decrypt(written[1]!);
    return Buffer.from(await new GroupCipher(receiver, name).decrypt(written[0]!));
  }

  test('fail in stock Baileys after a message was overtaken (when this fails, remove the repair)', async () => {
    await expect(overtaken(stockGroups)).rejects.toThrow('Expected Buffer');
  });

  test('decrypt the overtaken message, once repaired', async () => {
    expect((await overtaken(groups)).toString()).toBe('one');
  });
});

describe('a session that a message does not fit', () => {
  /** The stored session after a failed attempt, with or without a fitting session beside it. */
  async function tried(library: typeof libsignal): Promise<{ before: string; after: string }> {
    const { ProtocolAddress, SessionCipher, SessionRecord } = library;
    let advanced = false;
    const session = { indexInfo: { baseKey: Buffer.from('base') }, ratchet: 'as it was' };
    const sessions = () => ({ [session.indexInfo.baseKey.toString('base64')]: { ...session } });
    const record = () => Object.assign(new SessionRecord(), { sessions: sessions() });
    const storage = { loadSession: async () => record() } as never;
    const cipher = new SessionCipher(storage, new ProtocolAddress('ana', 0)) as unknown as {
      doDecryptWhisperMessage: (bytes: Uint8Array, session: unknown) => Promise<Buffer>;
      maybeStepRatchet: (session: { ratchet: string }) => void;
    };
    cipher.maybeStepRatchet = (one) => {
      advanced = true;
      one.ratchet = 'half advanced';
      throw new Error('it does not fit');
    };
    const trial = { ...session };
    await expect(cipher.doDecryptWhisperMessage(wellFormed(), trial)).rejects.toThrow('it does not fit');
    expect(advanced).toBe(true);
    return { before: session.ratchet, after: trial.ratchet };
  }

  /** Version, an empty message, eight bytes of a MAC. */
  const wellFormed = (): Buffer => Buffer.from([0x33, 0x0a, 0x00, 0, 0, 0, 0, 0, 0, 0, 0]);

  test('is left half advanced by stock libsignal (when this fails, remove the repair)', async () => {
    const { before, after } = await tried(stockLibsignal);
    expect(after).not.toBe(before);
  });

  test('is restored, once repaired', async () => {
    const { before, after } = await tried(libsignal);
    expect(after).toBe(before);
  });
});

describe('the console', () => {
  test('receives whole sessions from stock libsignal (when this fails, remove the patch)', () => {
    const info = jest.spyOn(console, 'info').mockImplementation(() => undefined);
    const session = { indexInfo: { closed: -1 }, currentRatchet: { rootKey: 'a root key' } };
    const record = new stockLibsignal.SessionRecord() as unknown as { closeSession: (of: object) => void };
    record.closeSession(session);
    expect(info.mock.calls).toEqual([['Closing session:', session]]);
    info.mockRestore();
  });

  test('prints nothing once silenced', () => {
    const said: unknown[] = [];
    const say = (...what: unknown[]): void => void said.push(what);
    const target = { debug: say, error: say, info: say, log: say, trace: say, warn: say };
    silenceConsole(target);
    for (const level of Object.keys(target) as (keyof typeof target)[]) target[level]('Closing session:', {});
    expect(said).toEqual([]);
  });

  test('is silenced before libsignal is loaded', () => {
    const first = readFileSync(new URL('./repairs.ts', import.meta.url), 'utf8').split('\n')[0];
    expect(first).toBe("import './silence-console.js';");
  });
});
