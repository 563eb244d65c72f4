import { jidNormalizedUser, proto, type WASocket } from '@whiskeysockets/baileys';
import type { Clock } from '@gwk/core/clock';
import { unrefClock } from '../../../../clock.js';
import { RateLimiter } from '../../rate-limiter.js';
import { getSender } from '../decrypt/undecryptable.js';

type Attributes = Record<string, string>;

/** A connection by which the phone can be asked. */
export interface PhoneConnection {
  socket: Pick<WASocket, 'sendPeerDataOperationMessage'>;
  isOwn: (jid: string) => boolean;
}

/** Until then its sender may have sent it again, or the phone by itself. */
const WAIT_MS = 2_000;
/** Where more wait than may be asked for. */
const RETRY_MS = 30_000;
/** Each request costs the phone something too. */
const REQUEST_LIMIT = { perKey: 60, total: 600, windowMs: 10 * 60_000 };

/**
 * Asks the phone for messages whose content did not come: each once by a connection, a while after it is missed, and
 * within bounds for each sender. What is beyond them waits; how much that may be is the caller's to say.
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

  /** By this one from here on. */
  useConnection(asker: PhoneConnection): void {
    this.#connection = asker;
    this.#startTimer(WAIT_MS);
  }

  schedule(id: string, attrs: Attributes): void {
    this.#due.set(id, { attrs, at: this.#clock.now() + WAIT_MS });
    this.#startTimer(WAIT_MS);
  }

  /** It came. */
  forget(id: string): void {
    this.#due.delete(id);
  }

  #startTimer(inMs: number): void {
    if (this.#timerRuns || !this.#connection || this.#due.size === 0) return;
    this.#timerRuns = true;
    this.#clock.after(inMs, () => void this.#requestDue());
  }

  /** One after the other: all at once would be what the number's own messages have to wait behind. */
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
      // By the next connection, where this one has ended.
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

/** As the phone names it: without devices. */
function buildMessageKey(attrs: Attributes, own: (jid: string) => boolean): proto.IMessageKey {
  const { id, from = '', participant, recipient } = attrs;
  return {
    id: id!,
    remoteJid: jidNormalizedUser(recipient ?? from),
    fromMe: own(participant ?? from),
    ...(participant !== undefined && { participant: jidNormalizedUser(participant) }),
  };
}
