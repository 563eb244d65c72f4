import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import { newUuid } from '@gwk/core/ids/ids';
import { PASSWORD, type Browser, type TestUser } from './console.js';
import type { TestApi } from './test-api.js';

const PRESENT = 0x01;
const VERIFIED = 0x04;
const ATTESTED = 0x40;
export const ORIGIN = 'http://127.0.0.1:8080';
const PROFILE = '/console/api/profile/passkeys';

export interface Options {
  challenge: string;
  rpId?: string;
  rp?: { id: string };
  user?: { id: string };
  allowCredentials?: { id: string }[];
  userVerification?: string;
}

/** An authenticator with one passkey. A test changes its fields to misbehave. */
export class TestPasskey {
  readonly id = randomBytes(16).toString('base64url');
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  origin = ORIGIN;
  counter = 0;
  verifiesPerson = true;
  userHandle: string | undefined;
  /** CBOR of the attestation statement, and its format. */
  attestation: [format: string, statement: Map<string, unknown>] = ['none', new Map()];

  /** Signs with a key other than that of the passkey. */
  key: KeyObject = this.#keys.privateKey;

  /** Answers `navigator.credentials.create()`. */
  create({ challenge, rp, user }: Options) {
    this.userHandle = user!.id;
    const { x, y } = this.#keys.publicKey.export({ format: 'jwk' });
    const bytes = (part: string) => new Uint8Array(Buffer.from(part, 'base64url'));
    const key = isoCBOR.encode(
      new Map<number, number | Uint8Array<ArrayBuffer>>([
        ...([
          [1, 2],
          [3, -7],
          [-1, 1],
        ] as const),
        [-2, bytes(x!)],
        [-3, bytes(y!)],
      ]),
    );
    const id = Buffer.from(this.id, 'base64url');
    const data = [Buffer.alloc(16), Buffer.from([0, id.length]), id, key];
    const authData = Buffer.concat([this.#head(rp!.id, ATTESTED), ...data]);
    const [format, statement] = this.attestation;
    const parts = new Map<string, unknown>([
      ['fmt', format],
      ['attStmt', statement],
      ['authData', new Uint8Array(authData)],
    ]);
    const attestationObject = Buffer.from(isoCBOR.encode(parts as never)).toString('base64url');
    const clientDataJSON = this.#clientData('webauthn.create', challenge).toString('base64url');
    const response = { clientDataJSON, attestationObject, transports: ['internal'] };
    return { id: this.id, rawId: this.id, type: 'public-key', response };
  }

  /** Answers `navigator.credentials.get()`. */
  get({ challenge, rpId }: Options) {
    const authenticatorData = this.#head(rpId!, 0);
    const clientData = this.#clientData('webauthn.get', challenge);
    const signed = Buffer.concat([authenticatorData, createHash('sha256').update(clientData).digest()]);
    const response = {
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: authenticatorData.toString('base64url'),
      signature: sign('sha256', signed, this.key).toString('base64url'),
      ...(this.userHandle !== undefined && { userHandle: this.userHandle }),
    };
    return { id: this.id, rawId: this.id, type: 'public-key', response };
  }

  #head(rpId: string, more: number): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    const flags = PRESENT | (this.verifiesPerson ? VERIFIED : 0) | more;
    return Buffer.concat([createHash('sha256').update(rpId).digest(), Buffer.from([flags]), counter]);
  }

  #clientData(type: string, challenge: string): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.origin, crossOrigin: false }));
  }
}

/** Adds a passkey to the person in the browser, as the profile does. */
export async function registerPasskey(browser: Browser, passkey = new TestPasskey()): Promise<TestPasskey> {
  const { body: options } = await browser.call<Options>('POST', `${PROFILE}/options`, {
    body: { password: PASSWORD },
  });
  const body = { name: 'Notebook', credential: passkey.create(options) };
  const answer = await browser.call('POST', PROFILE, { body });
  if (answer.status !== 201) throw new Error(`the passkey was not added: ${answer.status}`);
  return passkey;
}

/** Stores a passkey that no authenticator has. */
export const addPasskey = (api: TestApi, { id: userId }: TestUser) =>
  api.db.passkey.create({
    data: {
      id: newUuid(),
      userId,
      name: 'Notebook',
      credentialId: new Uint8Array(randomBytes(16)),
      publicKey: new Uint8Array(77),
      counter: 0,
      rpId: '127.0.0.1',
    },
  });
