import { failpoint } from '@gwk/core/process/failpoints';
import type { Clock } from '@gwk/core/clock';
import type { WASocket } from '@whiskeysockets/baileys';
import { getRawSocket, type RawSocket } from './socket-internals.js';
import { waitUntilStored, writeContext, type WriteContext } from './write-context.js';

type Done = (error?: Error) => void;

/** As in stock Baileys, which measures it with three stack traces a frame (connectTimeoutMs). */
const WRITE_MS = 20_000;

/**
 * The last check before a frame is written to the socket. Baileys awaits a lot between a send call and the write,
 * so earlier checks may no longer hold.
 */
export class WriteGuard {
  readonly #isLeased: () => boolean;
  readonly #raw: RawSocket;
  readonly #send: RawSocket['send'];
  #open = true;
  #held: Promise<void> | undefined;

  /**
   * @param socket newly created, with nothing written to it
   * @param leased checked before each frame: a process that was stopped past its lease may handle socket input
   * before any of its timers
   */
  constructor(socket: WASocket, leased: () => boolean, clock: Clock) {
    this.#isLeased = leased;
    this.#raw = getRawSocket(socket);
    this.#send = this.#raw.send.bind(this.#raw);
    this.#raw.send = (data, done) => this.#guard(data, inTime(clock, done));
  }

  /** Writes nothing from now on and closes the socket. */
  sever(): void {
    this.#open = false;
    this.#raw.terminate();
  }

  /** Delays all later frames until the promise resolves. If it rejects, closes the socket. */
  hold(until: Promise<void>): void {
    const held = Promise.all([this.#held, until]).then(() => undefined);
    held.catch(() => this.sever());
    this.#held = held;
  }

  #guard(data: Uint8Array, done: Done): void {
    const message = writeContext.getStore();
    // Usually the message has waited already (conversation-transactions.ts), so that no other frame waits behind
    // it.
    if (message && isStanza(message) && message.pendingWrites.length > 0) this.hold(waitUntilStored(message));
    if (!this.#held) return this.#write(data, done);
    this.#held.then(
      () => this.#write(data, done),
      () => done(new Error('the connection is closed')),
    );
  }

  #write(data: Uint8Array, done: Done): void {
    if (this.#open && !this.#isLeased()) this.sever();
    if (!this.#open) return done(new Error('the connection is closed'));
    const message = writeContext.getStore();
    if (!message || !isStanza(message)) return this.#send(data, done);
    if (message.abandoned || !message.mayWrite()) {
      // The frame took a number in the connection's cipher, so later frames could not be decrypted without it.
      this.sever();
      return done(new Error('writing is no longer allowed'));
    }
    message.written = true;
    this.#send(data, (error) => {
      if (!error) failpoint('engine.after-send');
      done(error);
    });
  }
}

/** Fails a write that takes too long, for example because the other side reads nothing. Later results are ignored. */
function inTime(clock: Clock, done: Done = () => undefined): Done {
  const cancel = clock.after(WRITE_MS, () => done(new Error('the frame was not written in time')));
  return (error) => {
    cancel();
    done(error);
  };
}

const isStanza = ({ encrypted, finished, abandoned }: WriteContext): boolean =>
  encrypted === true && (!finished || abandoned === true);
