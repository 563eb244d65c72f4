import { createHash, generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto';
import { ProtocolError } from '../wire/nodes.js';

/** The site that passkeys of the network belong to. */
export const RP_ID = 'whatsapp.com';
const ORIGIN = 'https://web.whatsapp.com';
const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const FLAGS_AT = 32;
const COUNTER_AT = 33;

/** `PublicKeyCredential.toJSON()` of an assertion. */
export interface Assertion {
  id: string;
  rawId: string;
  type: 'public-key';
  response: {
    clientDataJSON: string;
    authenticatorData: string;
    signature: string;
    userHandle: string | null;
  };
}

/** Differences from an honest browser that a test asks for. */
export interface AssertionFaults {
  origin?: string;
  rpId?: string;
  challenge?: string;
  unverified?: boolean;
}

const sha256 = (data: Uint8Array | string): Buffer => createHash('sha256').update(data).digest();

/** The WebAuthn authenticator of a phone: one passkey of its account (ES256). */
export class Authenticator {
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  readonly #userHandle = randomBytes(16);
  readonly credentialId = randomBytes(32);
  #counter = 0;

  /** The passkey in the form that Chromium's virtual authenticator takes. */
  export() {
    return {
      credentialId: this.credentialId.toString('base64'),
      isResidentCredential: true,
      rpId: RP_ID,
      privateKey: this.#keys.privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
      userHandle: this.#userHandle.toString('base64'),
      signCount: this.#counter,
    };
  }

  /** Answers a request as a browser on the network's page does. */
  assert(request: { challenge: string; rpId: string }, faults: AssertionFaults = {}): Assertion {
    const clientData = Buffer.from(
      JSON.stringify({
        type: 'webauthn.get',
        challenge: faults.challenge ?? request.challenge,
        origin: faults.origin ?? ORIGIN,
        crossOrigin: false,
      }),
    );
    const data = Buffer.alloc(COUNTER_AT + 4);
    sha256(faults.rpId ?? request.rpId).copy(data);
    data[FLAGS_AT] = faults.unverified ? USER_PRESENT : USER_PRESENT | USER_VERIFIED;
    data.writeUInt32BE(++this.#counter, COUNTER_AT);
    const signature = sign('sha256', Buffer.concat([data, sha256(clientData)]), this.#keys.privateKey);
    const id = this.credentialId.toString('base64url');
    return {
      id,
      rawId: id,
      type: 'public-key',
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: this.#userHandle.toString('base64url'),
      },
    };
  }

  /** @throws ProtocolError if the assertion does not answer the challenge for the network's site */
  verify(assertion: Assertion, challenge: string): void {
    const { clientDataJSON, authenticatorData, signature } = assertion.response;
    const clientData = Buffer.from(clientDataJSON, 'base64url');
    const data = Buffer.from(authenticatorData, 'base64url');
    const said = JSON.parse(clientData.toString()) as { type: string; challenge: string; origin: string };
    const signed = Buffer.concat([data, sha256(clientData)]);
    if (
      said.type !== 'webauthn.get' ||
      said.challenge !== challenge ||
      said.origin !== ORIGIN ||
      !data.subarray(0, FLAGS_AT).equals(sha256(RP_ID)) ||
      ((data[FLAGS_AT] ?? 0) & USER_VERIFIED) === 0 ||
      !verify('sha256', signed, this.#keys.publicKey, Buffer.from(signature, 'base64url'))
    )
      throw new ProtocolError('an assertion of another challenge, site or passkey');
  }
}
