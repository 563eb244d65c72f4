import { randomBytes } from 'node:crypto';
import {
  aesDecryptCTR,
  aesDecryptGCM,
  aesEncryptCTR,
  Curve,
  derivePairingCodeKey,
  hkdf,
} from '@whiskeysockets/baileys';
import type { Account, Companion } from '../people/account.js';
import type { KeyPair } from '../wire/certificates.js';
import { NETWORK, parseJid } from '../wire/jids.js';
import { readBytes, child, node, ProtocolError, seconds, type Node } from '../wire/nodes.js';
import type { Connection } from '../transport/connection.js';
import type { World } from '../world.js';
import type { Pairing } from './pairing.js';
import type { Answer } from './queries.js';

const SALT_LENGTH = 32;
const IV_LENGTH = 16;
const NONCE_LENGTH = 12;
const KEY_LENGTH = 32;

interface Offer {
  connection: Connection;
  ref: Buffer;
  /** The client's ephemeral key, encrypted with the code that its user sees. */
  wrapped: Buffer;
  finish?: (stanza: Node) => void;
}

/** Links a device by a code of eight characters that is typed on the phone. */
export class CodePairing {
  readonly #offers = new Map<string, Offer>();

  constructor(
    private readonly world: World,
    private readonly pairing: Pairing,
  ) {}

  waitsFor(number: string): boolean {
    return this.#offers.has(number);
  }

  /** Handles both messages of the client: its hello, and the result of the key exchange. */
  take(connection: Connection, stanza: Node): Answer | undefined {
    const registration = child(stanza, 'link_code_companion_reg');
    const number = parseJid(registration?.attrs.jid)?.user ?? '';
    if (registration?.attrs.stage === 'companion_hello') {
      const wrapped = readBytes(
        child(registration, 'link_code_pairing_wrapped_companion_ephemeral_pub'),
        'wrapped key',
      );
      const refused = this.world.people.get(number)?.manners.codesRefused;
      if (refused) return { error: refused, text: refused === 429 ? 'rate-overlimit' : 'bad-request' };
      const ref = randomBytes(16);
      this.#offers.set(number, { connection, ref, wrapped });
      this.world.changed();
      const answer = node('link_code_pairing_ref', {}, ref);
      return [node('link_code_companion_reg', { stage: 'companion_hello' }, [answer])];
    }
    const offer = this.#offers.get(number);
    if (!registration || !offer?.finish) throw new ProtocolError('the end of a pairing that has not begun');
    offer.finish(registration);
    return undefined;
  }

  /** The owner of the phone types the code. */
  async type(account: Account, code: string): Promise<Companion> {
    const offer = this.#offers.get(account.number);
    if (!offer?.connection.open) throw new Error(`no client waits for a code of ${account.number}`);
    const candidate = this.pairing.candidate(offer.connection);
    if (!candidate) throw new Error('the client that asked for the code has gone');
    const ephemeral = Curve.generateKeyPair();
    const clientKey = await unwrap(offer.wrapped, code);
    const finished = new Promise<Node>((resolve) => (offer.finish = resolve));
    offer.connection.send(hello(offer, account, await wrap(ephemeral, code)));
    const secret = readBundle(await finished, {
      account,
      ephemeral,
      clientKey,
      identity: candidate.identity,
    });
    this.#offers.delete(account.number);
    return this.pairing.link(account, candidate, secret);
  }
}

function hello(offer: Offer, account: Account, wrapped: Buffer): Node {
  const attributes = {
    from: NETWORK,
    type: 'link_code_companion_reg',
    id: `code-${seconds()}`,
    t: seconds(),
  };
  return node('notification', attributes, [
    node('link_code_companion_reg', { stage: 'primary_hello' }, [
      node('link_code_pairing_wrapped_primary_ephemeral_pub', {}, wrapped),
      node('primary_identity_pub', {}, Buffer.from(account.phone.signal.identity.public)),
      node('link_code_pairing_ref', {}, offer.ref),
    ]),
  ]);
}

async function unwrap(wrapped: Buffer, code: string): Promise<Buffer> {
  const salt = wrapped.subarray(0, SALT_LENGTH);
  const iv = wrapped.subarray(SALT_LENGTH, SALT_LENGTH + IV_LENGTH);
  return aesDecryptCTR(wrapped.subarray(SALT_LENGTH + IV_LENGTH), await derivePairingCodeKey(code, salt), iv);
}

async function wrap(ephemeral: KeyPair, code: string): Promise<Buffer> {
  const salt = randomBytes(SALT_LENGTH);
  const iv = randomBytes(IV_LENGTH);
  return Buffer.concat([
    salt,
    iv,
    aesEncryptCTR(ephemeral.public, await derivePairingCodeKey(code, salt), iv),
  ]);
}

interface Shared {
  account: Account;
  ephemeral: KeyPair;
  clientKey: Buffer;
  identity: Buffer;
}

/** Decrypts the key bundle. With a wrong code the keys differ and the decryption fails. */
function readBundle(registration: Node, shared: Shared): Buffer {
  const bundle = readBytes(child(registration, 'link_code_pairing_wrapped_key_bundle'), 'key bundle');
  const identity = readBytes(child(registration, 'companion_identity_public'), 'identity');
  if (!identity.equals(shared.identity)) throw new ProtocolError('another identity than at the beginning');
  const secret = Curve.sharedKey(shared.ephemeral.private, shared.clientKey);
  const salt = bundle.subarray(0, SALT_LENGTH);
  const nonce = bundle.subarray(SALT_LENGTH, SALT_LENGTH + NONCE_LENGTH);
  const info = 'link_code_pairing_key_bundle_encryption_key';
  const key = Buffer.from(hkdf(secret, KEY_LENGTH, { salt, info }));
  let plain: Buffer;
  try {
    plain = aesDecryptGCM(bundle.subarray(SALT_LENGTH + NONCE_LENGTH), key, nonce, Buffer.alloc(0));
  } catch {
    throw new Error('the code is wrong');
  }
  const phoneKey = shared.account.phone.signal.identity;
  if (!plain.subarray(KEY_LENGTH, 2 * KEY_LENGTH).equals(phoneKey.public)) {
    throw new ProtocolError('the bundle names another phone');
  }
  const identitySecret = Curve.sharedKey(phoneKey.private, identity);
  const random = plain.subarray(2 * KEY_LENGTH, 3 * KEY_LENGTH);
  return Buffer.from(
    hkdf(Buffer.concat([secret, identitySecret, random]), KEY_LENGTH, { info: 'adv_secret' }),
  );
}
