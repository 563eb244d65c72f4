import { AsyncLocalStorage } from 'node:async_hooks';
import { failpoint } from '@gwk/core/failpoints';
import type { WASocket } from '@whiskeysockets/baileys';

/** A message under way to the socket: what is sent after its encryption, in its context, is its stanza. */
export interface Writing {
  /** Asked immediately before the stanza is given to the socket. */
  mayWrite: () => boolean;
  encrypted: boolean;
  written: boolean;
  /** Who has been given the key of a group with it. */
  keysGiven?: Record<string, unknown>;
}

export const writing = new AsyncLocalStorage<Writing>();

/** To be called within `writing.run`, once what is to leave is encrypted. */
export function noteEncrypted(): void {
  const message = writing.getStore();
  if (message) message.encrypted = true;
}

type Done = (error?: Error) => void;

/** Of the `ws` package, as far as it is used here. */
interface Raw {
  send: (data: Uint8Array, done?: Done) => void;
  terminate: () => void;
}

/**
 * The last place before the socket, where it is decided whether a frame may leave. Baileys awaits much between being
 * asked to send and sending, so nothing that is asked before it holds.
 */
export class Wire {
  readonly #raw: Raw;
  readonly #send: Raw['send'];
  #open = true;
  #held: Promise<void> | undefined;

  /** @param socket just made, so that nothing has been written to it */
  constructor(socket: WASocket) {
    this.#raw = (socket.ws as unknown as { socket: Raw }).socket;
    this.#send = this.#raw.send.bind(this.#raw);
    this.#raw.send = (data, done) => this.#guard(data, done);
  }

  /** Nothing leaves from here on. */
  sever(): void {
    this.#open = false;
    this.#raw.terminate();
  }

  /** What is written from here on leaves once this has resolved; never, where it rejects. */
  hold(until: Promise<void>): void {
    const held = Promise.all([this.#held, until]).then(() => undefined);
    held.catch(() => this.sever());
    this.#held = held;
  }

  #guard(data: Uint8Array, done: Done = () => undefined): void {
    if (!this.#open) return done(new Error('the connection is severed'));
    const message = writing.getStore();
    if (message?.encrypted) {
      if (!message.mayWrite()) {
        // The frame has taken its number in the cipher of the connection: without it none that follows can be read.
        this.sever();
        return done(new Error('nothing may be written any more'));
      }
      message.written = true;
    }
    if (!this.#held) return this.#write(data, done, message);
    this.#held.then(
      () => this.#write(data, done, message),
      () => done(new Error('the connection is severed')),
    );
  }

  #write(data: Uint8Array, done: Done, message: Writing | undefined): void {
    if (!this.#open) return done(new Error('the connection is severed'));
    this.#send(data, (error) => {
      if (message?.encrypted && !error) failpoint('engine.after-send');
      done(error);
    });
  }
}
