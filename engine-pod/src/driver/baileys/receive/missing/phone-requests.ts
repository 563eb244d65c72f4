import { jidNormalizedUser, proto, type WASocket } from '@whiskeysockets/baileys';
import type { Clock } from '@gwk/core/clock';
import { unrefClock } from '../../../../clock.js';
import { Allowance } from '../../rate-limiter.js';
import { senderOf } from '../decrypt/undecryptable.js';

type Attributes = Record<string, string>;

/** A connection by which the phone can be asked. */
export interface Asker {
  socket: Pick<WASocket, 'sendPeerDataOperationMessage'>;
  own: (jid: string) => boolean;
}

/** Until then its sender may have sent it again, or the phone by itself. */
const WAIT_MS = 2_000;
/** Where more wait than may be asked for. */
const LATER_MS = 30_000;
/** Each request costs the phone something too. */
const REQUESTS = { ofOne: 60, ofAll: 600, windowMs: 10 * 60_000 };

/**
 * Asks the phone for messages whose content did not come: each once by a connection, a while after it is missed, and
 * within bounds for each sender. What is beyond them waits; how much that may be is the caller's to say.
 */
export class Asking {
  readonly #clock: Clock;
  readonly #allowance: Allowance;
  readonly #due = new Map<string, { attrs: Attributes; at: number }>();
  #asker: Asker | undefined;
  #isDue = false;

  constructor(clock = unrefClock) {
    this.#clock = clock;
    this.#allowance = new Allowance(REQUESTS, () => clock.now());
  }

  /** By this one from here on. */
  by(asker: Asker): void {
    this.#asker = asker;
    this.#wake(WAIT_MS);
  }

  ask(id: string, attrs: Attributes): void {
    this.#due.set(id, { attrs, at: this.#clock.now() + WAIT_MS });
    this.#wake(WAIT_MS);
  }

  /** It came. */
  forget(id: string): void {
    this.#due.delete(id);
  }

  #wake(inMs: number): void {
    if (this.#isDue || !this.#asker || this.#due.size === 0) return;
    this.#isDue = true;
    this.#clock.after(inMs, () => void this.#pass());
  }

  /** One after the other: all at once would be what the number's own messages have to wait behind. */
  async #pass(): Promise<void> {
    let next = LATER_MS;
    for (const [id, { attrs, at }] of this.#due) {
      const early = at - this.#clock.now();
      if (early > 0) {
        next = early;
        break;
      }
      if (!this.#allowance.take(senderOf(attrs))) continue;
      this.#due.delete(id);
      // By the next connection, where this one has ended.
      await this.#request(attrs).catch(() => undefined);
    }
    this.#isDue = false;
    this.#wake(next);
  }

  async #request(attrs: Attributes): Promise<void> {
    const { socket, own } = this.#asker!;
    await socket.sendPeerDataOperationMessage({
      placeholderMessageResendRequest: [{ messageKey: keyOf(attrs, own) }],
      peerDataOperationRequestType: proto.Message.PeerDataOperationRequestType.PLACEHOLDER_MESSAGE_RESEND,
    });
  }
}

/** As the phone names it: without devices. */
function keyOf(attrs: Attributes, own: (jid: string) => boolean): proto.IMessageKey {
  const { id, from = '', participant, recipient } = attrs;
  return {
    id: id!,
    remoteJid: jidNormalizedUser(recipient ?? from),
    fromMe: own(participant ?? from),
    ...(participant !== undefined && { participant: jidNormalizedUser(participant) }),
  };
}
