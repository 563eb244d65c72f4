import { ProtocolError } from './nodes.js';

/** 'W', 'A', protocol version and dictionary version. */
const PROLOGUE = Buffer.from([0x57, 0x41]);
const PROLOGUE_LENGTH = 4;
const ROUTING_PREFIX = Buffer.from('ED');
const ROUTING_HEAD_LENGTH = 7;
/** Maximum length of a frame. It limits the memory of a connection with invalid input. */
const LONGEST_FRAME = 16 * 1024 * 1024;

export interface Opening {
  /** The bytes that both sides authenticate before the handshake. */
  header: Buffer;
  /** Routing data that the client received in an earlier connection (edge routing). */
  routing?: Buffer;
}

/** Splits the stream of a connection: the opening once, then frames with a three-byte length. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);
  #opening?: Opening;

  push(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
  }

  /** @returns the opening once it is complete */
  opening(): Opening | undefined {
    this.#opening ??= this.#takeOpening();
    return this.#opening;
  }

  next(): Buffer | undefined {
    if (this.#rest.length < 3) return undefined;
    const length = this.#rest.readUIntBE(0, 3);
    if (length > LONGEST_FRAME) throw new ProtocolError(`a frame of ${length} bytes`);
    if (this.#rest.length < 3 + length) return undefined;
    const frame = this.#rest.subarray(3, 3 + length);
    this.#rest = this.#rest.subarray(3 + length);
    return frame;
  }

  #takeOpening(): Opening | undefined {
    if (this.#rest.length < 2) return undefined;
    let at = 0;
    let routing: Buffer | undefined;
    if (this.#rest.subarray(0, 2).equals(ROUTING_PREFIX)) {
      if (this.#rest.length < ROUTING_HEAD_LENGTH) return undefined;
      const length = this.#rest.readUIntBE(4, 3);
      at = ROUTING_HEAD_LENGTH + length;
      if (this.#rest.length < at + PROLOGUE_LENGTH) return undefined;
      routing = Buffer.from(this.#rest.subarray(ROUTING_HEAD_LENGTH, at));
    }
    if (this.#rest.length < at + PROLOGUE_LENGTH) return undefined;
    const header = Buffer.from(this.#rest.subarray(at, at + PROLOGUE_LENGTH));
    if (!header.subarray(0, 2).equals(PROLOGUE)) throw new ProtocolError('not the opening of a client');
    this.#rest = this.#rest.subarray(at + PROLOGUE_LENGTH);
    return { header, ...(routing && { routing }) };
  }
}

export function framed(bytes: Uint8Array): Buffer {
  const head = Buffer.alloc(3);
  head.writeUIntBE(bytes.length, 0, 3);
  return Buffer.concat([head, bytes]);
}
