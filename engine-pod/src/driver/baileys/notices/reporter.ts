import type { Logger } from '@gwk/core/process/log';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import type { EngineRequest } from '@gwk/core/protocol/engine';
import type { Notice, NoticePerson } from '@gwk/core/protocol/notices';
import { pairNames, parseRecipient, parseUsername } from '@gwk/core/ids/recipients';
import { limitName } from '../receive/normalise/text.js';
import { normaliseJid } from '../stanza-attrs.js';

/** Services of the engine for calls and changes of groups. */
export interface NoticeServices {
  log: Logger;
  isOwn: (jid: string) => boolean;
  /** Finds the other id of a contact, if it is known. */
  findOtherId: (jid: string) => Promise<string | null>;
  /** Undefined: the API is of an earlier release, and takes no notices. */
  rejectsCalls: () => boolean | undefined;
  /** Resolves once stored. */
  storeNotice: (notice: Notice) => Promise<void>;
  /** Resolves once stored. */
  storeUsernames: (people: EngineRequest<'usernames'>['people']) => Promise<void>;
  countIgnored: (reason: string) => void;
}

const MAX_NAME = 300;
/** Maximum number of notices that wait to be stored while the API is slow or unavailable. */
const MAX_WAITING = 1_000;
/** Strangers choose how many calls come. They leave places for changes of groups. */
const MAX_WAITING_WITH_CALL = 500;

/** Stores notices. Their stanzas are acknowledged afterwards, because the network does not repeat them then. */
export class NoticeReporter {
  readonly #services: NoticeServices;
  readonly #repeat: () => void;
  #waiting = 0;
  /** The network repeats a stanza that was not acknowledged only to a new connection. */
  #hasDropped = false;

  /** @param repeat is called once all waiting notices are stored, if others found no place */
  constructor(services: NoticeServices, repeat: () => void) {
    this.#services = services;
    this.#repeat = repeat;
  }

  /**
   * Resolves once the stanza may be acknowledged.
   * @throws if it must come again with a new connection
   */
  async store(notice: Notice): Promise<void> {
    const limit = notice.kind === 'call' ? MAX_WAITING_WITH_CALL : MAX_WAITING;
    if (this.#waiting >= limit) {
      this.#hasDropped = true;
      throw new Error('too many notices wait');
    }
    this.#waiting += 1;
    try {
      await this.#services.storeNotice(notice);
    } catch (error) {
      // The API would refuse it every time; the batch sender has logged it.
      if (!(error instanceof InternalApiRefusal)) throw error;
      this.#services.countIgnored('refused');
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0 && this.#hasDropped) {
        this.#hasDropped = false;
        this.#repeat();
      }
    }
  }
}

/** A person by the ids that the network states; null if the first one is not the id of a contact. */
export function namePerson(
  id = '',
  alt?: string,
  { name, username: stated }: { name?: string | undefined; username?: string | undefined } = {},
): NoticePerson | null {
  const jid = normaliseJid(id);
  if (parseRecipient(jid)?.kind !== 'contact') return null;
  const other = alt === undefined ? '' : normaliseJid(alt);
  const username = parseUsername(stated);
  return {
    id: jid,
    alt: pairNames(jid, other) ? other : null,
    name: limitName(name, MAX_NAME),
    ...(username !== null && { username }),
  };
}
