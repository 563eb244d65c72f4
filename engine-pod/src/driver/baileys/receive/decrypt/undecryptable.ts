import { jidNormalizedUser, type BinaryNode, type CacheStore } from '@whiskeysockets/baileys';
import { RateLimiter } from '../../rate-limiter.js';
import { ExpiringMap } from '../../expiring-map.js';

export interface UndecryptableOptions {
  /** A message cannot be read; its sender is asked for it again, and the phone may be. */
  missing: (stanza: BinaryNode) => void;
  /** Somebody has sent more of them than are asked for; told once in a while. */
  tooMany: () => void;
}

/** The message that Baileys is dealing with. */
interface CurrentMessage {
  stanza: BinaryNode;
  /** That it is asked for once more is noted. */
  counted: boolean;
}

const HOUR_MS = 3_600_000;
const COUNTED = { max: 2_000, forMs: HOUR_MS };
/** Requests to send again: for each message one, and so many of a sender. */
const REQUESTS = { perKey: 500, windowMs: HOUR_MS };
/** Those from the second on bring a key that is made and stored for them. */
const WITH_KEYS = { perKey: 200, total: 1_000, windowMs: HOUR_MS };
/** Messages of ours that a contact has sent again; each counts twice. */
const RESENDS = { perKey: 400, windowMs: 10 * 60_000 };
const REPORT_LIMIT = { perKey: 1, total: 10, windowMs: HOUR_MS };
/** Of one message. */
export const MAX_REQUESTS = 5;

/**
 * What becomes of messages that cannot be read, by the two caches in which Baileys notes what it has asked for. It
 * deals with such a message while all others wait, so nothing may be waited for there, and a stranger sends as many as
 * it likes, so what is done for each has bounds:
 * - Its sender is asked to send it again, up to five times, with bounds for each sender (`retries`).
 * - Likewise our own are sent again to whoever says that it could not read them.
 * - Baileys would wait for two seconds and ask the phone. It is told that the phone was asked already (`resends`), and
 *   that is done beside it (see Asking).
 *
 * Messages are taken one after the other (see takeMessagesInOrder): what is asked of the caches under the id of the one
 * that is being taken is asked for its sake.
 */
export class UndecryptableMessages {
  readonly #options: UndecryptableOptions;
  readonly #requests = new RateLimiter(REQUESTS);
  readonly #withKeys = new RateLimiter(WITH_KEYS);
  /** How often each was asked for, by its sender too: ids are theirs to choose. */
  readonly #requestCounts = new ExpiringMap<number>(COUNTED);
  /** How often each of ours was sent again. */
  readonly #resendCounts = new ExpiringMap<number>(COUNTED);
  readonly #resends = new RateLimiter(RESENDS);
  readonly #reported = new RateLimiter(REPORT_LIMIT);
  #current: CurrentMessage | undefined;

  constructor(options: UndecryptableOptions) {
    this.#options = options;
  }

  /** Resolves once Baileys is through with it. */
  async process(stanza: BinaryNode, take: () => Promise<unknown>): Promise<void> {
    this.#current = { stanza, counted: false };
    try {
      await take();
    } finally {
      this.#current = undefined;
    }
  }

  /** Baileys' `msgRetryCounterCache`: how often a message was asked for, and how often one of ours was sent again. */
  get retries(): CacheStore {
    return {
      get: <T>(key: string) => {
        const taken = this.#findCurrent(key);
        return (taken ? this.#countRequests(taken) : this.#countResends(key)) as T | undefined;
      },
      set: (key, value) => {
        const taken = this.#findCurrent(key);
        if (!taken) return this.#recordResend(key, Number(value));
        taken.counted = true;
        this.#requestCounts.set(toMessageName(taken.stanza), Number(value));
      },
      // Of a message that was asked for often enough: it would begin anew with it.
      del: (key) => (this.#findCurrent(key) ? undefined : this.#resendCounts.delete(key)),
      flushAll: () => undefined,
    };
  }

  /** Baileys' `placeholderResendCache`: of which messages the phone was asked for. */
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

  /** So many as Baileys may go on with: as many as there may be, where it is not to be asked for. */
  #countRequests({ stanza, counted }: CurrentMessage): number {
    const asked = this.#requestCounts.get(toMessageName(stanza)) ?? 0;
    if (counted || asked >= MAX_REQUESTS) return asked;
    const sender = getSender(stanza.attrs);
    const bringsKey = asked > 0 || !isEncrypted(stanza);
    const may = this.#requests.has(sender) && (!bringsKey || this.#withKeys.take(sender));
    if (may && this.#requests.take(sender)) return asked;
    if (this.#reported.take(sender)) this.#options.tooMany();
    return MAX_REQUESTS;
  }
}

/** Whoever wrote it, with whichever device. */
export const getSender = ({ participant, from = '' }: BinaryNode['attrs']): string =>
  jidNormalizedUser(participant ?? from);

/** Of the key of a message of ours, `<id>:<jid>`. */
const parseReceiver = (key: string): string => jidNormalizedUser(key.slice(key.indexOf(':') + 1));

const toMessageName = ({ attrs }: BinaryNode): string => `${getSender(attrs)} ${attrs['id']}`;

const isEncrypted = ({ content }: BinaryNode): boolean =>
  Array.isArray(content) && content.some(({ tag }) => tag === 'enc');
