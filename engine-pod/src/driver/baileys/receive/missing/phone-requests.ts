import { jidNormalizedUser, proto, type WASocket } from '@whiskeysockets/baileys';
import type { Clock } from '@gwk/core/clock';
import { unrefClock } from '../../../../clock.js';
import { RateLimiter } from '../../rate-limiter.js';
import { getSender } from '../decrypt/undecryptable.js';

export type Attributes = Record<string, string>;

/** A connection through which the phone can be asked. */
export interface PhoneConnection {
  socket: Pick<WASocket, 'sendPeerDataOperationMessage'>;
  isOwn: (jid: string) => boolean;
}

/** Delay before asking. The sender or the phone may send the message again on its own. */
const WAIT_MS = 2_000;
/** Delay while the limit is reached. */
const RETRY_MS = 30_000;
/** Each request costs the phone effort too. */
const REQUEST_LIMIT = { perKey: 60, total: 600, windowMs: 10 * 60_000 };

/**
 * Asks the phone for messages whose content did not come: once for each connection, after a delay, and limited per
 * sender. The others wait. The caller bounds how many.
 */
export class PhoneRequests {
  readonly #clock: Clock;
  readonly #limiter: RateLimiter;
  readonly #due = new Map<string, { attrs: Attributes; at: number }>();
  #connection: PhoneConnection | undefined;
  #timerRuns = false;

  constructor(clock = unrefClock) {
    this.#clock = clock;
    this.#limiter = new RateLimiter(REQUEST_LIMIT, () => clock.now());
  }

  /** Uses this connection from now on. */
  useConnection(connection: PhoneConnection): void {
    this.#connection = connection;
    this.#startTimer(WAIT_MS);
  }

  schedule(id: string, attrs: Attributes): void {
    this.#due.set(id, { attrs, at: this.#clock.now() + WAIT_MS });
    this.#startTimer(WAIT_MS);
  }

  /** The message came. */
  forget(id: string): void {
    this.#due.delete(id);
  }

  #startTimer(inMs: number): void {
    if (this.#timerRuns || !this.#connection || this.#due.size === 0) return;
    this.#timerRuns = true;
    this.#clock.after(inMs, () => void this.#requestDue());
  }

  /** One request at a time, so that the instance's own messages do not wait behind all of them. */
  async #requestDue(): Promise<void> {
    let next = RETRY_MS;
    for (const [id, { attrs, at }] of this.#due) {
      const early = at - this.#clock.now();
      if (early > 0) {
        next = early;
        break;
      }
      if (!this.#limiter.take(getSender(attrs))) continue;
      this.#due.delete(id);
      // If this connection has ended, the next one asks.
      await this.#request(attrs).catch(() => undefined);
    }
    this.#timerRuns = false;
    this.#startTimer(next);
  }

  async #request(attrs: Attributes): Promise<void> {
    const { socket, isOwn } = this.#connection!;
    await socket.sendPeerDataOperationMessage({
      placeholderMessageResendRequest: [{ messageKey: buildMessageKey(attrs, isOwn) }],
      peerDataOperationRequestType: proto.Message.PeerDataOperationRequestType.PLACEHOLDER_MESSAGE_RESEND,
    });
  }
}

/** The key as the phone names the message: without devices. */
function buildMessageKey(attrs: Attributes, own: (jid: string) => boolean): proto.IMessageKey {
  const { id, from = '', participant, recipient } = attrs;
  return {
    id: id!,
    remoteJid: jidNormalizedUser(recipient ?? from),
    fromMe: own(participant ?? from),
    ...(participant !== undefined && { participant: jidNormalizedUser(participant) }),
  };
}
