import './silence-libsignal.js';
import { BufferJSON, encodeWAMessage, proto, unpadRandomMax16 } from '@whiskeysockets/baileys';
import {
  GroupCipher,
  GroupSessionBuilder,
  SenderKeyDistributionMessage,
  SenderKeyName,
  SenderKeyRecord,
} from '@whiskeysockets/baileys/lib/Signal/Group/index.js';
import * as libsignal from 'libsignal';
import { makeKeyPair, makeRegistrationId, makeSignedPreKey, typed, type Bundle } from './keys.js';
import { CounterUsed, UnreadableMessage } from './errors.js';
import type { KeyPair } from '../wire/certificates.js';

/** Address of a Signal session: a user by LID, and one of that user's devices. */
export interface Address {
  user: string;
  device: number;
}

export interface Ciphertext {
  type: 'pkmsg' | 'msg';
  bytes: Buffer;
}

/** Records in libsignal's form for storage, which shares nothing with the records. */
type Sessions = Map<string, object>;

/** A method of libsignal's cipher on a session, which its type declaration lacks. */
interface OpenCipher {
  doDecryptWhisperMessage(bytes: Buffer, session: unknown): Promise<Buffer>;
}
interface OpenRecord {
  /** The most recently used first. */
  getSessions(): { indexInfo: { used: number } }[];
  removeOldSessions(): void;
}

export interface DeviceSnapshot {
  registrationId: number;
  identity: KeyPair;
  signedPreKey: { id: number; pair: KeyPair; signature: Buffer };
  preKeys: [number, KeyPair][];
  nextPreKey: number;
  sessions: [string, string][];
  senderKeys: [string, string][];
}

/** A device of a simulated person with real Signal sessions. Its calls must not overlap. */
export class SignalDevice {
  readonly #state: Omit<DeviceSnapshot, 'preKeys' | 'sessions' | 'senderKeys'>;
  readonly #preKeys: Map<number, KeyPair>;
  readonly #sessions: Sessions;
  readonly #senderKeys: Map<string, string>;

  constructor(snapshot?: DeviceSnapshot) {
    const identity = snapshot?.identity ?? makeKeyPair();
    this.#state = {
      identity,
      registrationId: snapshot?.registrationId ?? makeRegistrationId(),
      signedPreKey: snapshot?.signedPreKey ?? makeSignedPreKey(identity, 1),
      nextPreKey: snapshot?.nextPreKey ?? 1,
    };
    this.#preKeys = new Map(snapshot?.preKeys);
    this.#sessions = new Map(snapshot?.sessions.map(([name, text]) => [name, JSON.parse(text) as object]));
    this.#senderKeys = new Map(snapshot?.senderKeys);
  }

  get identity(): KeyPair {
    return this.#state.identity;
  }

  get registrationId(): number {
    return this.#state.registrationId;
  }

  snapshot(): DeviceSnapshot {
    return {
      ...this.#state,
      preKeys: [...this.#preKeys],
      sessions: [...this.#sessions].map(([name, stored]) => [name, JSON.stringify(stored)]),
      senderKeys: [...this.#senderKeys],
    };
  }

  /** A key bundle with a pre-key that no other bundle has. */
  bundle(): Bundle {
    const { signedPreKey, identity, registrationId } = this.#state;
    const id = this.#state.nextPreKey++;
    const pair = makeKeyPair();
    this.#preKeys.set(id, pair);
    return {
      registrationId,
      identity: Buffer.from(identity.public),
      signedPreKey: {
        id: signedPreKey.id,
        key: Buffer.from(signedPreKey.pair.public),
        signature: signedPreKey.signature,
      },
      preKey: { id, key: Buffer.from(pair.public) },
    };
  }

  hasSession(address: Address): boolean {
    const record = this.#load(nameOf(address));
    return record?.haveOpenSession() ?? false;
  }

  forgetSession(address: Address): void {
    this.#sessions.delete(nameOf(address));
  }

  async startSession(address: Address, bundle: Bundle): Promise<void> {
    const { signedPreKey, preKey } = bundle;
    await new libsignal.SessionBuilder(this.#storage(), protocolAddress(address)).initOutgoing({
      registrationId: bundle.registrationId,
      identityKey: typed(bundle.identity),
      signedPreKey: {
        keyId: signedPreKey.id,
        publicKey: typed(signedPreKey.key),
        signature: signedPreKey.signature,
      },
      // Undefined if the device has run out of pre-keys, which the type declaration does not allow.
      preKey: (preKey && { keyId: preKey.id, publicKey: typed(preKey.key) }) as {
        keyId: number;
        publicKey: Buffer;
      },
    });
  }

  encrypt(address: Address, message: proto.IMessage): Promise<Ciphertext> {
    return this.encryptBytes(address, encodeWAMessage(message));
  }

  /** Encrypts any bytes. A message must be padded first if the other side is to read it. */
  async encryptBytes(address: Address, bytes: Uint8Array): Promise<Ciphertext> {
    const cipher = new libsignal.SessionCipher(this.#storage(), protocolAddress(address));
    const { type, body } = await cipher.encrypt(bytes);
    return { type: type === 3 ? 'pkmsg' : 'msg', bytes: Buffer.from(body, 'binary') };
  }

  /** @throws CounterUsed if the key was used before, UnreadableMessage for everything else */
  async decrypt(address: Address, sealed: { type: string; bytes: Uint8Array }): Promise<proto.Message> {
    const cipher = new libsignal.SessionCipher(this.#storage(), protocolAddress(address));
    const bytes = Buffer.from(sealed.bytes);
    try {
      const plain =
        sealed.type === 'pkmsg'
          ? await cipher.decryptPreKeyWhisperMessage(bytes)
          : await this.#decryptInSession(cipher, address, bytes);
      return proto.Message.decode(unpadRandomMax16(plain));
    } catch (error) {
      throw readError(error);
    }
  }

  async takeSenderKey(group: string, sender: Address, distribution: Uint8Array): Promise<void> {
    const message = new SenderKeyDistributionMessage(null, null, null, null, distribution);
    await new GroupSessionBuilder(this.#senderKeyStore()).process(senderKeyName(group, sender), message);
  }

  async makeSenderKey(group: string, self: Address): Promise<Buffer> {
    const builder = new GroupSessionBuilder(this.#senderKeyStore());
    return Buffer.from((await builder.create(senderKeyName(group, self))).serialize());
  }

  async encryptToGroup(group: string, self: Address, message: proto.IMessage): Promise<Buffer> {
    const cipher = new GroupCipher(this.#senderKeyStore(), senderKeyName(group, self));
    return Buffer.from(await cipher.encrypt(encodeWAMessage(message)));
  }

  async decryptFromGroup(group: string, sender: Address, bytes: Uint8Array): Promise<proto.Message> {
    try {
      const cipher = new GroupCipher(this.#senderKeyStore(), senderKeyName(group, sender));
      return proto.Message.decode(unpadRandomMax16(await cipher.decrypt(Buffer.from(bytes))));
    } catch (error) {
      throw readError(error);
    }
  }

  /**
   * Like SessionCipher.decryptWhisperMessage, but separates a used counter from a wrong session. Phones drop the first
   * without notice and request the message again for the second.
   */
  async #decryptInSession(cipher: libsignal.SessionCipher, address: Address, bytes: Buffer): Promise<Buffer> {
    const errors: Error[] = [];
    for (let place = 0; ; place++) {
      // A fresh copy for each session: a failed decryption leaves the record half advanced.
      const record = this.#load(nameOf(address));
      const open = record as unknown as OpenRecord | undefined;
      const session = open?.getSessions()[place];
      if (!record || !open || !session) break;
      try {
        const plain = await (cipher as unknown as OpenCipher).doDecryptWhisperMessage(bytes, session);
        // The next message is tried with this session first.
        session.indexInfo.used = Date.now();
        open.removeOldSessions();
        this.#store(nameOf(address), record);
        return plain;
      } catch (error) {
        errors.push(error as Error);
      }
    }
    throw (
      errors.find((error) => error.name === 'MessageCounterError') ??
      errors[0] ??
      new UnreadableMessage('no session')
    );
  }

  #load(name: string): libsignal.SessionRecord | undefined {
    const stored = this.#sessions.get(name);
    // A fresh copy each time: a failed decryption leaves its record half advanced.
    return stored === undefined ? undefined : libsignal.SessionRecord.deserialize(stored as Buffer);
  }

  #store(name: string, record: libsignal.SessionRecord): void {
    this.#sessions.set(name, record.serialize());
  }

  #storage(): libsignal.SignalStorage {
    const signed = this.#state.signedPreKey.pair;
    return {
      loadSession: async (name) => this.#load(name),
      storeSession: async (name, record) => this.#store(name, record),
      isTrustedIdentity: () => true,
      loadPreKey: async (id) => {
        const pair = this.#preKeys.get(Number(id));
        return pair && pairOf(pair);
      },
      removePreKey: (id) => void this.#preKeys.delete(id),
      loadSignedPreKey: () => pairOf(signed),
      getOurRegistrationId: () => this.registrationId,
      getOurIdentity: () => pairOf(this.identity),
    };
  }

  #senderKeyStore() {
    return {
      loadSenderKey: async (name: SenderKeyName) => {
        const stored = this.#senderKeys.get(name.toString());
        return stored === undefined
          ? new SenderKeyRecord()
          : SenderKeyRecord.deserialize(Buffer.from(stored));
      },
      storeSenderKey: async (name: SenderKeyName, record: SenderKeyRecord) => {
        this.#senderKeys.set(name.toString(), JSON.stringify(record.serialize(), BufferJSON.replacer));
      },
    };
  }
}

const nameOf = (address: Address): string => protocolAddress(address).toString();

const protocolAddress = ({ user, device }: Address) => new libsignal.ProtocolAddress(user, device);

const senderKeyName = (group: string, sender: Address) => new SenderKeyName(group, protocolAddress(sender));

const pairOf = (pair: KeyPair) => ({
  privKey: Buffer.from(pair.private),
  pubKey: typed(pair.public),
});

function readError(error: unknown): Error {
  if (error instanceof UnreadableMessage) return error;
  const { name, message } = error as Error;
  const used = name === 'MessageCounterError' || message.startsWith('Received message with old counter');
  return used ? new CounterUsed(message) : new UnreadableMessage(message);
}
