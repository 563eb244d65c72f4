import { aesDecryptGCM, aesEncryptGCM, Curve, hkdf, proto, sha256 } from '@whiskeysockets/baileys';
import { ProtocolError } from './nodes.js';
import type { Certificates, KeyPair } from './certificates.js';

/** Exactly 32 bytes, so that the hash starts as the name itself. */
const PROTOCOL = Buffer.from('Noise_XX_25519_AESGCM_SHA256\0\0\0\0');
const EMPTY = Buffer.alloc(0);

function nonce(counter: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32BE(counter, 8);
  return bytes;
}

/** One direction of an open connection: a key and a counter that both sides advance with each frame. */
class Direction {
  #counter = 0;

  constructor(private readonly key: Uint8Array) {}

  seal(plain: Uint8Array): Uint8Array {
    return aesEncryptGCM(plain, this.key, nonce(this.#counter++), EMPTY);
  }

  open(sealed: Uint8Array): Uint8Array {
    return aesDecryptGCM(sealed, this.key, nonce(this.#counter++), EMPTY);
  }
}

export interface Session {
  /** The static key of the client, the same at every login of a device. */
  clientKey: Buffer;
  payload: proto.ClientPayload;
  incoming: Direction;
  outgoing: Direction;
}

/** The responder's side of Noise XX, as clients of the network use it. */
export class Handshake {
  #hash: Uint8Array = PROTOCOL;
  #salt: Uint8Array = PROTOCOL;
  #key: Uint8Array = PROTOCOL;
  #counter = 0;
  #ephemeral?: KeyPair;

  constructor(
    private readonly certificates: Certificates,
    header: Uint8Array,
  ) {
    this.#mixHash(header);
  }

  /** @returns the frame that answers the client's hello */
  answer(frame: Uint8Array): Uint8Array {
    const clientKey = proto.HandshakeMessage.decode(frame).clientHello?.ephemeral;
    if (clientKey?.length !== 32) throw new ProtocolError('a hello without an ephemeral key');
    this.#mixHash(clientKey);
    const ephemeral = Curve.generateKeyPair();
    this.#ephemeral = ephemeral;
    this.#mixHash(ephemeral.public);
    this.#mixKey(Curve.sharedKey(ephemeral.private, clientKey));
    const key = this.#seal(this.certificates.serverKey.public);
    this.#mixKey(Curve.sharedKey(this.certificates.serverKey.private, clientKey));
    const payload = this.#seal(this.certificates.chain);
    const serverHello = { ephemeral: ephemeral.public, static: key, payload };
    return proto.HandshakeMessage.encode({ serverHello }).finish();
  }

  /** Handles the client's last frame: its identity and its payload. */
  finish(frame: Uint8Array): Session {
    const { clientFinish } = proto.HandshakeMessage.decode(frame);
    if (!clientFinish?.static || !clientFinish.payload || !this.#ephemeral) {
      throw new ProtocolError('an incomplete end of the handshake');
    }
    const clientKey = Buffer.from(this.#open(clientFinish.static));
    if (clientKey.length !== 32) throw new ProtocolError('a static key of the wrong length');
    this.#mixKey(Curve.sharedKey(this.#ephemeral.private, clientKey));
    const payload = proto.ClientPayload.decode(this.#open(clientFinish.payload));
    const [incoming, outgoing] = this.#derive(EMPTY);
    return {
      clientKey,
      payload,
      incoming: new Direction(incoming),
      outgoing: new Direction(outgoing),
    };
  }

  #derive(secret: Uint8Array): [Uint8Array, Uint8Array] {
    const bytes = hkdf(Buffer.from(secret), 64, { salt: Buffer.from(this.#salt), info: '' });
    return [bytes.subarray(0, 32), bytes.subarray(32)];
  }

  #mixHash(bytes: Uint8Array): void {
    this.#hash = sha256(Buffer.concat([this.#hash, bytes]));
  }

  #mixKey(secret: Uint8Array): void {
    [this.#salt, this.#key] = this.#derive(secret);
    this.#counter = 0;
  }

  #seal(plain: Uint8Array): Uint8Array {
    const sealed = aesEncryptGCM(plain, this.#key, nonce(this.#counter++), this.#hash);
    this.#mixHash(sealed);
    return sealed;
  }

  #open(sealed: Uint8Array): Uint8Array {
    const plain = aesDecryptGCM(sealed, this.#key, nonce(this.#counter++), this.#hash);
    this.#mixHash(sealed);
    return plain;
  }
}
