import { failpoint } from '@gwk/core/failpoints';
import type { WASocket } from '@whiskeysockets/baileys';
import { waitUntilStored, writeContext, type WriteContext } from './write-context.js';

type Done = (error?: Error) => void;

/** Of the `ws` package, as far as it is used here. */
interface RawSocket {
  send: (data: Uint8Array, done?: Done) => void;
  terminate: () => void;
}

/**
 * The last place before the socket, where it is decided whether a frame may leave. Baileys awaits much between being
 * asked to send and sending, so nothing that is asked before it holds.
 */
export class WriteGuard {
  readonly #isLeased: () => boolean;
  readonly #raw: RawSocket;
  readonly #send: RawSocket['send'];
  #open = true;
  #held: Promise<void> | undefined;

  /**
   * @param socket just made, so that nothing has been written to it
   * @param leased asked before each frame: a process that stood still past its lease may be woken by what came
   * meanwhile, before any of its timers
   */
  constructor(socket: WASocket, leased: () => boolean) {
    this.#isLeased = leased;
    this.#raw = (socket.ws as unknown as { socket: RawSocket }).socket;
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
    const message = writeContext.getStore();
    // Waited for before (see freeLanes), so that nothing else has to wait here behind it.
    if (message && isStanza(message) && message.pendingWrites.length > 0) this.hold(waitUntilStored(message));
    if (!this.#held) return this.#write(data, done);
    this.#held.then(
      () => this.#write(data, done),
      () => done(new Error('the connection is severed')),
    );
  }

  #write(data: Uint8Array, done: Done): void {
    if (this.#open && !this.#isLeased()) this.sever();
    if (!this.#open) return done(new Error('the connection is severed'));
    const message = writeContext.getStore();
    if (!message || !isStanza(message)) return this.#send(data, done);
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

const isStanza = ({ encrypted, finished, abandoned }: WriteContext): boolean =>
  encrypted && (!finished || abandoned);
