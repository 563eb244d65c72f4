import { AsyncLocalStorage } from 'node:async_hooks';
import { failpoint } from '@gwk/core/failpoints';
import type { WASocket } from '@whiskeysockets/baileys';

/** A message under way to the socket: what is sent after its encryption, in its context, is its stanza. */
export interface Writing {
  /** Those of one chat come one after the other. */
  chat: string;
  /** Asked immediately before the stanza is given to the socket. */
  mayWrite: () => boolean;
  encrypted: boolean;
  /** Ratchet steps of its encryption that are not known to be stored. */
  storing: Promise<void>[];
  written: boolean;
  /** What is sent in its context from here on is no part of it. */
  over: boolean;
  /** It was taken for not written, so it must not be. */
  abandoned: boolean;
  /** Who has been given the key of a group with it. */
  keysGiven?: Record<string, unknown>;
}

export const newWriting = (chat: string, mayWrite: () => boolean): Writing => ({
  chat,
  mayWrite,
  encrypted: false,
  storing: [],
  written: false,
  over: false,
  abandoned: false,
});

export const writing = new AsyncLocalStorage<Writing>();

/**
 * To be called within `writing.run`, once what is to leave is encrypted.
 * @returns whether there is a message whose stanza waits until it is stored
 */
export function noteEncrypted(stored: Promise<void>): boolean {
  const message = writing.getStore();
  if (!message || message.over) return false;
  message.encrypted = true;
  message.storing.push(stored);
  return true;
}

/** Until every ratchet step of the message is stored. */
export async function allStored(message: Writing): Promise<void> {
  while (message.storing.length > 0) {
    const waited = [...message.storing];
    await Promise.all(waited);
    message.storing = message.storing.filter((stored) => !waited.includes(stored));
  }
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
  readonly #leased: () => boolean;
  readonly #raw: Raw;
  readonly #send: Raw['send'];
  #open = true;
  #held: Promise<void> | undefined;

  /**
   * @param socket just made, so that nothing has been written to it
   * @param leased asked before each frame: a process that stood still past its lease may be woken by what came
   * meanwhile, before any of its timers
   */
  constructor(socket: WASocket, leased: () => boolean) {
    this.#leased = leased;
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
    const message = writing.getStore();
    // Waited for before (see freeLanes), so that nothing else has to wait here behind it.
    if (message && isStanzaOf(message) && message.storing.length > 0) this.hold(allStored(message));
    if (!this.#held) return this.#pass(data, done);
    this.#held.then(
      () => this.#pass(data, done),
      () => done(new Error('the connection is severed')),
    );
  }

  #pass(data: Uint8Array, done: Done): void {
    if (this.#open && !this.#leased()) this.sever();
    if (!this.#open) return done(new Error('the connection is severed'));
    const message = writing.getStore();
    if (!message || !isStanzaOf(message)) return this.#send(data, done);
    if (message.abandoned || !message.mayWrite()) {
      // The frame has taken its number in the cipher of the connection: without it none that follows can be read.
      this.sever();
      return done(new Error('nothing may be written any more'));
    }
    message.written = true;
    this.#send(data, (error) => {
      if (!error) failpoint('engine.after-send');
      done(error);
    });
  }
}

const isStanzaOf = ({ encrypted, over, abandoned }: Writing): boolean => encrypted && (!over || abandoned);
