import { type BinaryNode, type CacheStore } from '@whiskeysockets/baileys';
import { RateLimiter } from '../../rate-limiter.js';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import { normaliseJid } from '../../stanza-attrs.js';

interface UndecryptableOptions {
  /** A message cannot be decrypted. Its sender is asked to resend it; the phone may be asked too. */
  missing: (stanza: BinaryNode) => void;
  /** A sender exceeded the number of messages that are requested again. Reported once per hour and sender. */
  tooMany: () => void;
}

/** The message that Baileys is handling. */
interface CurrentMessage {
  stanza: BinaryNode;
  /** Another request for it has been counted. */
  counted: boolean;
}

const HOUR_MS = 3_600_000;
const COUNTED = { max: 2_000, ttlMs: HOUR_MS };
/** Resend requests: one for each message, up to a limit per sender. */
const REQUESTS = { perKey: 500, windowMs: HOUR_MS };
/** From the second request on, each carries a new pre-key that is created and stored for it. */
const WITH_KEYS = { perKey: 200, total: 1_000, windowMs: HOUR_MS };
/** Resends of our own messages; each counts twice. */
const RESENDS = { perKey: 400, windowMs: 10 * 60_000 };
const REPORT_LIMIT = { perKey: 1, total: 10, windowMs: HOUR_MS };
/** Resend requests for one message. */
export const MAX_REQUESTS = 5;

/**
 * Limits the work for undecryptable messages, through the two caches in which Baileys counts its requests:
 * - `retries`: resend requests for a message, and our own resends, per sender and in total.
 * - `resends`: claims that the phone was asked already. missing/missing-messages.ts asks it in the background.
 *
 * Messages are handled one at a time, so an access under the current message's id is made for that message.
 */
export class UndecryptableMessages {
  readonly #options: UndecryptableOptions;
  readonly #requests = new RateLimiter(REQUESTS);
  readonly #withKeys = new RateLimiter(WITH_KEYS);
  /** Requests for each message, by sender too, because senders choose the ids. */
  readonly #requestCounts = new ExpiringMap<number>(COUNTED);
  /** Resends of each of our messages. */
  readonly #resendCounts = new ExpiringMap<number>(COUNTED);
  readonly #resends = new RateLimiter(RESENDS);
  readonly #reported = new RateLimiter(REPORT_LIMIT);
  #current: CurrentMessage | undefined;

  constructor(options: UndecryptableOptions) {
    this.#options = options;
  }

  /** Resolves once Baileys has handled the message. */
  async process(stanza: BinaryNode, handle: () => Promise<unknown>): Promise<void> {
    this.#current = { stanza, counted: false };
    try {
      await handle();
    } finally {
      this.#current = undefined;
    }
  }

  /** Baileys' `msgRetryCounterCache`: requests for a received message, and resends of a sent one. */
  get retries(): CacheStore {
    return {
      get: <T>(key: string) => {
        const current = this.#findCurrent(key);
        return (current ? this.#countRequests(current) : this.#countResends(key)) as T | undefined;
      },
      set: (key, value) => {
        const current = this.#findCurrent(key);
        if (!current) return this.#recordResend(key, Number(value));
        current.counted = true;
        this.#requestCounts.set(toMessageName(current.stanza), Number(value));
      },
      // Baileys deletes the count of a message that was requested often enough, and would start again.
      del: (key) => (this.#findCurrent(key) ? undefined : this.#resendCounts.delete(key)),
      flushAll: () => undefined,
    };
  }

  /** Baileys' `placeholderResendCache`: the messages that the phone was asked for. */
  get resends(): CacheStore {
    return {
      get: <T>(id: string) => {
        const stanza = this.#current?.stanza;
        if (stanza?.attrs['id'] === id && isEncrypted(stanza)) this.#options.missing(stanza);
        return true as T;
      },
      set: () => undefined,
      del: () => undefined,
      flushAll: () => undefined,
    };
  }

  #findCurrent(key: string): CurrentMessage | undefined {
    const { id, participant } = this.#current?.stanza.attrs ?? {};
    return id !== undefined && key === `${id}:${participant}` ? this.#current : undefined;
  }

  #countResends(key: string): number | undefined {
    return this.#resends.has(parseReceiver(key)) ? this.#resendCounts.get(key) : MAX_REQUESTS;
  }

  #recordResend(key: string, times: number): void {
    this.#resends.take(parseReceiver(key));
    this.#resendCounts.set(key, times);
  }

  /** The count for Baileys; the maximum when the message must not be requested. */
  #countRequests({ stanza, counted }: CurrentMessage): number {
    const count = this.#requestCounts.get(toMessageName(stanza)) ?? 0;
    if (counted || count >= MAX_REQUESTS) return count;
    const sender = getSender(stanza.attrs);
    const bringsKey = count > 0 || !isEncrypted(stanza);
    const isAllowed = this.#requests.has(sender) && (!bringsKey || this.#withKeys.take(sender));
    if (isAllowed && this.#requests.take(sender)) return count;
    if (this.#reported.take(sender)) this.#options.tooMany();
    return MAX_REQUESTS;
  }
}

/** The sender of a message, whichever device it used. */
export const getSender = ({ participant, from = '' }: BinaryNode['attrs']): string =>
  normaliseJid(participant ?? from);

/** The receiver in the key `<id>:<jid>` of a message of ours. */
const parseReceiver = (key: string): string => normaliseJid(key.slice(key.indexOf(':') + 1));

const toMessageName = ({ attrs }: BinaryNode): string => `${getSender(attrs)} ${attrs['id']}`;

const isEncrypted = ({ content }: BinaryNode): boolean =>
  Array.isArray(content) && content.some(({ tag }) => tag === 'enc');
