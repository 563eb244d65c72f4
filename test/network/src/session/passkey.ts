import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { aesDecryptGCM, Curve, proto } from '@whiskeysockets/baileys';
import type { Account } from '../people/account.js';
import { RP_ID, type Assertion } from '../people/authenticator.js';
import type { Connection } from '../transport/connection.js';
import type { KeyPair } from '../wire/certificates.js';
import { NETWORK } from '../wire/jids.js';
import { child, children, node, ProtocolError, readBytes, seconds, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';
import type { Candidate } from './pairing.js';
import type { Answer } from './queries.js';

const KEY_LENGTH = 32;
const CODE_BYTES = 5;
const CODE_LETTERS = '123456789ABCDEFGHJKLMNPQRSTVWXYZ';
const REFUSED: Answer = { error: 403, text: 'forbidden' };
const EXPIRED: Answer = { error: 410, text: 'gone' };

/** The account requires a passkey before it links a device. The ceremony goes on without the person who scanned. */
export class PasskeyNeeded extends Error {
  override readonly name = 'PasskeyNeeded';
}

type Link = (account: Account, candidate: Candidate, secret: Buffer) => Promise<unknown>;

/** A linking that waits for a passkey. */
interface Ceremony {
  account: Account;
  candidate: Candidate;
  /** Secret of the QR code or typed code. A client that knows it need not compare codes. */
  secret: Buffer;
  /** Undefined once it is answered: an assertion counts once. */
  challenge: string | undefined;
  expiresAt: number;
  ref: string;
  prologue?: { identity: Buffer; commitment: Buffer; handedOff: boolean };
  phone?: { keys: KeyPair; nonce: Buffer };
  /** Whether the client has revealed its nonce, so that both sides know the code. */
  isRevealed: boolean;
  code: string | null;
}

/** The screen of the phone, for its owner. */
export interface PasskeyView {
  options: { challenge: string; rpId: string } | null;
  /** The code to compare; null before it is known, and with a valid proof of the client's hand-off. */
  code: string | null;
}

/** Links devices of accounts that require a passkey. Clients ask and answer in `iq` stanzas of the namespace `md`. */
export class PasskeyPairing {
  readonly #ceremonies = new Map<Connection, Ceremony>();

  constructor(
    private readonly world: World,
    private readonly link: Link,
  ) {}

  begin(account: Account, candidate: Candidate, secret: Buffer): void {
    const ref = randomBytes(16).toString('base64url');
    const fresh = { challenge: undefined, expiresAt: 0, ref, isRevealed: false, code: null };
    const ceremony: Ceremony = { account, candidate, secret, ...fresh };
    this.#ceremonies.set(candidate.connection, ceremony);
    this.#request(ceremony);
  }

  end(connection: Connection): void {
    this.#ceremonies.delete(connection);
  }

  /** Asks the clients of an account once more, with another challenge. */
  repeat(account: Account): void {
    for (const ceremony of this.#ofAccount(account)) this.#request(ceremony);
  }

  view(account: Account): PasskeyView {
    const ceremony = this.#ofAccount(account).at(-1);
    if (!ceremony) return { options: null, code: null };
    const { challenge, code } = ceremony;
    return { options: challenge === undefined ? null : { challenge, rpId: RP_ID }, code };
  }

  /** Undefined: the query belongs to no ceremony. */
  take(connection: Connection, stanza: Node): Answer | undefined {
    const ceremony = this.#ceremonies.get(connection);
    const [asked] = children(stanza);
    if (!ceremony || !asked) return undefined;
    try {
      return this.#answer(ceremony, asked);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.world.violated(`${asked.tag} of ${ceremony.account.number}: ${error.message}`);
      return REFUSED;
    } finally {
      this.world.changed();
    }
  }

  #answer(ceremony: Ceremony, asked: Node): Answer | undefined {
    switch (asked.tag) {
      case 'ref':
        return [node('ref', {}, Buffer.from(ceremony.ref))];
      case 'passkey_request_options':
        return [optionsNode(ceremony)];
      case 'passkey_prologue':
        return this.#takePrologue(ceremony, asked);
      case 'companion_nonce':
        return this.#takeNonce(ceremony, readBytes(asked, 'nonce'));
      case 'encrypted_pairing_request':
        return this.#takeRequest(ceremony, readBytes(asked, 'pairing request'));
      default:
        return undefined;
    }
  }

  #ofAccount(account: Account): Ceremony[] {
    return [...this.#ceremonies.values()].filter((ceremony) => ceremony.account === account);
  }

  #request(ceremony: Ceremony): void {
    const { account, candidate } = ceremony;
    ceremony.challenge = randomBytes(32).toString('base64url');
    ceremony.expiresAt = Date.now() + account.manners.passkeyMs;
    ceremony.isRevealed = false;
    ceremony.code = null;
    delete ceremony.prologue;
    delete ceremony.phone;
    candidate.connection.send(notification('passkey_prologue_request', [optionsNode(ceremony)]));
    this.world.changed();
  }

  #takePrologue(ceremony: Ceremony, prologue: Node): Answer {
    const { account, candidate, challenge, secret } = ceremony;
    if (Date.now() >= ceremony.expiresAt) return EXPIRED;
    if (challenge === undefined) throw new ProtocolError('an assertion without a request');
    const id = readBytes(child(prologue, 'credential_id'), 'credential');
    const assertion = readBytes(child(prologue, 'webauthn_assertion'), 'assertion').toString();
    ceremony.challenge = undefined;
    if (!id.equals(account.passkey.credentialId)) throw new ProtocolError('a passkey of another account');
    account.passkey.verify(JSON.parse(assertion) as Assertion, challenge);
    const payload = readBytes(child(prologue, 'prologue_payload'), 'prologue');
    const { identity, commitment } = readPrologue(payload, ceremony.ref);
    if (account.manners.passkeyEnds === 'refused') return REFUSED;
    const proof = child(prologue, 'pairing_handoff_proof');
    const handedOff = proof !== undefined && proveHandoff(secret, payload).equals(readBytes(proof, 'proof'));
    ceremony.prologue = { identity, commitment, handedOff };
    // After the answer to this query. A phone that is gone sends nothing.
    if (account.manners.passkeyEnds !== 'gone')
      setImmediate(() => this.#continue(ceremony, candidate.connection));
    return [];
  }

  #continue(ceremony: Ceremony, connection: Connection): void {
    const keys = Curve.generateKeyPair();
    const nonce = randomBytes(KEY_LENGTH);
    ceremony.phone = { keys, nonce };
    const isBroken = ceremony.account.manners.passkeyEnds === 'malformed';
    const identity = proto.PrimaryEphemeralIdentity.encode({
      publicKey: keys.public,
      nonce: isBroken ? nonce.subarray(1) : nonce,
    }).finish();
    connection.send(
      notification('crsc_continuation', [node('primary_ephemeral_identity', {}, Buffer.from(identity))]),
    );
  }

  #takeNonce(ceremony: Ceremony, nonce: Buffer): Answer {
    const { prologue, phone, account } = ceremony;
    if (!prologue || !phone) throw new ProtocolError('a nonce before the continuation');
    const commitment = sha256(Buffer.concat([prologue.identity, nonce]));
    if (!commitment.equals(prologue.commitment)) throw new ProtocolError('a nonce of another commitment');
    ceremony.isRevealed = true;
    const seen = account.manners.passkeyEnds === 'code-differs' ? randomBytes(KEY_LENGTH) : nonce;
    if (!prologue.handedOff) ceremony.code = deriveCode(seen, phone);
    return [];
  }

  #takeRequest(ceremony: Ceremony, bytes: Buffer): Answer {
    const { account, candidate, prologue, phone, ref } = ceremony;
    if (!prologue || !phone || !ceremony.isRevealed) throw new ProtocolError('a request before the nonce');
    if (Date.now() >= ceremony.expiresAt) return EXPIRED;
    const companion = proto.CompanionEphemeralIdentity.decode(prologue.identity);
    const shared = Curve.sharedKey(phone.keys.private, companion.publicKey!);
    const salt = `Companion Pairing ${companion.deviceType ?? 0} with ref ${ref}`;
    const key = derive(shared, salt, 'Pairing Information Encryption Key');
    const request = decryptRequest(key, bytes);
    const secret = checkRequest(request, candidate);
    if (secret.equals(ceremony.secret)) throw new ProtocolError('a pairing secret that is not fresh');
    this.end(candidate.connection);
    // After the answer to this query.
    setImmediate(() => {
      this.link(account, candidate, secret).catch((error: Error) =>
        this.world.violated(`passkey of ${account.number}: ${error.message}`),
      );
    });
    return [];
  }
}

function notification(type: string, content: Node[]): Node {
  return node('notification', { from: NETWORK, type, id: `passkey-${seconds()}`, t: seconds() }, content);
}

function optionsNode({ challenge, account }: Ceremony): Node {
  const options = {
    challenge,
    rpId: RP_ID,
    timeout: account.manners.passkeyMs,
    userVerification: 'required',
    allowCredentials: [
      { id: account.passkey.credentialId.toString('base64url'), type: 'public-key', transports: ['hybrid'] },
    ],
  };
  return node('passkey_request_options', {}, Buffer.from(JSON.stringify(options)));
}

function readPrologue(payload: Buffer, ref: string): { identity: Buffer; commitment: Buffer } {
  const { companionEphemeralIdentity, commitment } = proto.ProloguePayload.decode(payload);
  const identity = Buffer.from(companionEphemeralIdentity ?? []);
  const companion = proto.CompanionEphemeralIdentity.decode(identity);
  if (companion.ref !== ref) throw new ProtocolError('a prologue with another reference');
  if (companion.publicKey?.length !== KEY_LENGTH) throw new ProtocolError('a prologue without a key');
  return { identity, commitment: Buffer.from(commitment?.hash ?? []) };
}

/** @returns the pairing secret */
function checkRequest(request: proto.IPairingRequest, { identity, connection }: Candidate): Buffer {
  if (!identity.equals(request.companionIdentityKey ?? Buffer.alloc(0)))
    throw new ProtocolError('the identity of another client');
  if (!connection.clientKey.equals(request.companionPublicKey ?? Buffer.alloc(0)))
    throw new ProtocolError('the key of another connection');
  const secret = Buffer.from(request.advSecret ?? []);
  if (secret.length !== KEY_LENGTH) throw new ProtocolError('a pairing secret of another length');
  return secret;
}

function decryptRequest(key: Buffer, bytes: Buffer): proto.IPairingRequest {
  const { encryptedPayload, iv } = proto.EncryptedPairingRequest.decode(bytes);
  try {
    const plain = aesDecryptGCM(Buffer.from(encryptedPayload!), key, Buffer.from(iv!), Buffer.alloc(0));
    return proto.PairingRequest.decode(plain);
  } catch {
    throw new ProtocolError('a pairing request with another key');
  }
}

const sha256 = (data: Uint8Array): Buffer => createHash('sha256').update(data).digest();

const derive = (secret: Uint8Array, salt: string, info: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, salt, info, KEY_LENGTH));

const proveHandoff = (secret: Buffer, payload: Buffer): Buffer =>
  createHmac('sha256', derive(secret, '', 'shortcake-passkey-handoff-v1'))
    .update(payload)
    .digest();

/** Eight characters of five bits, which both sides compute from both nonces. */
function deriveCode(nonce: Buffer, phone: { keys: KeyPair; nonce: Buffer }): string {
  const digest = sha256(Buffer.concat([nonce, phone.keys.public]));
  const bytes = digest.subarray(0, CODE_BYTES).map((byte, index) => byte ^ phone.nonce[index]!);
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return bits.replace(/.{5}/g, (five) => CODE_LETTERS[Number.parseInt(five, 2)]!);
}
