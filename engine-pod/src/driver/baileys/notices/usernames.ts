import { getBinaryNodeChild, type BinaryNode, type Contact, type WASocket } from '@whiskeysockets/baileys';
import type { EngineRequest } from '@gwk/core/protocol/engine';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import { parseRecipient, parseUsername } from '@gwk/core/ids/recipients';
import { interceptEvent } from '../patches/socket-internals.js';
import { type NoticeServices } from './reporter.js';
import { readTime } from '../stanza-attrs.js';

type SeenUsername = EngineRequest<'usernames'>['people'][number];

const MAX_WAITING = 10_000;
const MAX_REPORTED = 500;

/** Reports usernames that come without a message, the newest of each LID. A failed report is repeated with the next one. */
export class UsernameReporter {
  readonly #services: Pick<NoticeServices, 'storeUsernames' | 'countIgnored'>;
  readonly #waiting = new Map<string, SeenUsername>();
  #sending: Promise<void> | undefined;

  constructor(services: Pick<NoticeServices, 'storeUsernames' | 'countIgnored'>) {
    this.#services = services;
  }

  /**
   * Resolves once all are stored.
   * @throws if some found no place or the API is unavailable
   */
  async report(people: readonly SeenUsername[]): Promise<void> {
    let dropped = 0;
    for (const one of people) {
      if (this.#waiting.size < MAX_WAITING || this.#waiting.has(one.lid)) this.#waiting.set(one.lid, one);
      else dropped += 1;
    }
    if (this.#waiting.size > 0) await (this.#sending ??= this.#send());
    if (dropped === 0) return;
    for (let count = 0; count < dropped; count++) this.#services.countIgnored('too_many_usernames');
    throw new Error('too many usernames wait');
  }

  async #send(): Promise<void> {
    try {
      while (this.#waiting.size > 0) await this.#sendBatch();
    } finally {
      // In the turn in which the loop ends, so that no later report relies on it.
      this.#sending = undefined;
    }
  }

  async #sendBatch(): Promise<void> {
    const people = [...this.#waiting.values()].slice(0, MAX_REPORTED);
    await this.#services.storeUsernames(people).catch((error: unknown) => {
      // The API would refuse it every time.
      if (!(error instanceof InternalApiRefusal)) throw error;
      this.#services.countIgnored('refused');
    });
    for (const one of people) {
      if (this.#waiting.get(one.lid) === one) this.#waiting.delete(one.lid);
    }
  }
}

/** Listens for changes of usernames, and for the contacts of the account and of its history. */
export function storeUsernames(socket: Pick<WASocket, 'ws' | 'ev'>, services: NoticeServices): void {
  const reporter = new UsernameReporter(services);
  // Baileys ignores these notices.
  interceptEvent(socket, 'CB:notification', (stanza: BinaryNode, pass) => {
    const change = parseUsernameChange(stanza);
    if (!change) return void pass(stanza);
    reporter.report([change]).then(
      () => pass(stanza),
      // The notice comes again with a new connection.
      () => undefined,
    );
  });
  const reportContacts = (contacts: readonly Contact[]): void => {
    const people = contacts.flatMap(readContact);
    if (people.length > 0) reporter.report(people).catch(() => undefined);
  };
  socket.ev.on('contacts.upsert', reportContacts);
  socket.ev.on('messaging-history.set', ({ contacts }) => reportContacts(contacts));
}

function readContact(contact: Contact): SeenUsername[] {
  const lid = parseLid(contact.id) ?? parseLid(contact.lid);
  const username = parseUsername(contact.username);
  return lid === null || username === null ? [] : [{ lid, username }];
}

const parseLid = (id: unknown): string | null =>
  typeof id === 'string' && id.endsWith('@lid') ? (parseRecipient(id)?.name ?? null) : null;

/** Null for all other notices. */
export function parseUsernameChange(stanza: BinaryNode): SeenUsername | null {
  if (stanza.attrs['type'] !== 'mex') return null;
  const data = parseData(getBinaryNodeChild(stanza, 'update')?.content);
  const { xwa2_notify_username_on_change: set, xwa2_notify_username_delete: removed } = data;
  const lid = parseLid((set ?? removed)?.lid);
  if (lid === null) return null;
  const username = parseUsername(set?.username);
  const isKnown = !set || username !== null;
  return isKnown ? { lid, username, at: readTime(stanza.attrs['t']) } : null;
}

interface Data {
  xwa2_notify_username_on_change?: { lid?: string; username?: string } | null;
  xwa2_notify_username_delete?: { lid?: string } | null;
}

/** The network writes the content. A form that is not known is ignored. */
function parseData(content: BinaryNode['content']): Data {
  if (!(content instanceof Uint8Array)) return {};
  try {
    return (JSON.parse(Buffer.from(content).toString()) as { data?: Data | null } | null)?.data ?? {};
  } catch {
    return {};
  }
}
