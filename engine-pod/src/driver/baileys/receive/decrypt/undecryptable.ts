import { jidNormalizedUser, type BinaryNode, type CacheStore } from '@whiskeysockets/baileys';
import { Allowance } from '../../rate-limiter.js';
import { Recent } from '../../expiring-map.js';

export interface UnreadableOptions {
  /** A message cannot be read; its sender is asked for it again, and the phone may be. */
  missing: (stanza: BinaryNode) => void;
  /** Somebody has sent more of them than are asked for; told once in a while. */
  tooMany: () => void;
}

/** The message that Baileys is dealing with. */
interface Taken {
  stanza: BinaryNode;
  /** That it is asked for once more is noted. */
  counted: boolean;
}

const HOUR_MS = 3_600_000;
const COUNTED = { max: 2_000, forMs: HOUR_MS };
/** Requests to send again: for each message one, and so many of a sender. */
const REQUESTS = { ofOne: 500, windowMs: HOUR_MS };
/** Those from the second on bring a key that is made and stored for them. */
const WITH_KEYS = { ofOne: 200, ofAll: 1_000, windowMs: HOUR_MS };
/** Messages of ours that a contact has sent again; each counts twice. */
const RESENDS = { ofOne: 400, windowMs: 10 * 60_000 };
const TOLD = { ofOne: 1, ofAll: 10, windowMs: HOUR_MS };
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
export class Unreadable {
  readonly #options: UnreadableOptions;
  readonly #requests = new Allowance(REQUESTS);
  readonly #withKeys = new Allowance(WITH_KEYS);
  /** How often each was asked for, by its sender too: ids are theirs to choose. */
  readonly #asked = new Recent<number>(COUNTED);
  /** How often each of ours was sent again. */
  readonly #sentAgain = new Recent<number>(COUNTED);
  readonly #resends = new Allowance(RESENDS);
  readonly #told = new Allowance(TOLD);
  #taken: Taken | undefined;

  constructor(options: UnreadableOptions) {
    this.#options = options;
  }

  /** Resolves once Baileys is through with it. */
  async taking(stanza: BinaryNode, take: () => Promise<unknown>): Promise<void> {
    this.#taken = { stanza, counted: false };
    try {
      await take();
    } finally {
      this.#taken = undefined;
    }
  }

  /** Baileys' `msgRetryCounterCache`: how often a message was asked for, and how often one of ours was sent again. */
  get retries(): CacheStore {
    return {
      get: <T>(key: string) => {
        const taken = this.#takenAs(key);
        return (taken ? this.#requestsOf(taken) : this.#resendsOf(key)) as T | undefined;
      },
      set: (key, value) => {
        const taken = this.#takenAs(key);
        if (!taken) return this.#noteResend(key, Number(value));
        taken.counted = true;
        this.#asked.set(nameOf(taken.stanza), Number(value));
      },
      // Of a message that was asked for often enough: it would begin anew with it.
      del: (key) => (this.#takenAs(key) ? undefined : this.#sentAgain.delete(key)),
      flushAll: () => undefined,
    };
  }

  /** Baileys' `placeholderResendCache`: of which messages the phone was asked for. */
  get resends(): CacheStore {
    return {
      get: <T>(id: string) => {
        const stanza = this.#taken?.stanza;
        if (stanza?.attrs['id'] === id && isEncrypted(stanza)) this.#options.missing(stanza);
        return true as T;
      },
      set: () => undefined,
      del: () => undefined,
      flushAll: () => undefined,
    };
  }

  #takenAs(key: string): Taken | undefined {
    const { id, participant } = this.#taken?.stanza.attrs ?? {};
    return id !== undefined && key === `${id}:${participant}` ? this.#taken : undefined;
  }

  #resendsOf(key: string): number | undefined {
    return this.#resends.has(receiverIn(key)) ? this.#sentAgain.get(key) : MAX_REQUESTS;
  }

  #noteResend(key: string, times: number): void {
    this.#resends.take(receiverIn(key));
    this.#sentAgain.set(key, times);
  }

  /** So many as Baileys may go on with: as many as there may be, where it is not to be asked for. */
  #requestsOf({ stanza, counted }: Taken): number {
    const asked = this.#asked.get(nameOf(stanza)) ?? 0;
    if (counted || asked >= MAX_REQUESTS) return asked;
    const sender = senderOf(stanza.attrs);
    const bringsKey = asked > 0 || !isEncrypted(stanza);
    const may = this.#requests.has(sender) && (!bringsKey || this.#withKeys.take(sender));
    if (may && this.#requests.take(sender)) return asked;
    if (this.#told.take(sender)) this.#options.tooMany();
    return MAX_REQUESTS;
  }
}

/** Whoever wrote it, with whichever device. */
export const senderOf = ({ participant, from = '' }: BinaryNode['attrs']): string =>
  jidNormalizedUser(participant ?? from);

/** Of the key of a message of ours, `<id>:<jid>`. */
const receiverIn = (key: string): string => jidNormalizedUser(key.slice(key.indexOf(':') + 1));

const nameOf = ({ attrs }: BinaryNode): string => `${senderOf(attrs)} ${attrs['id']}`;

const isEncrypted = ({ content }: BinaryNode): boolean =>
  Array.isArray(content) && content.some(({ tag }) => tag === 'enc');
