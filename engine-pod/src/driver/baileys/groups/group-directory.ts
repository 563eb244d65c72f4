import type { BinaryNode, GroupMetadata, WASocket } from '@whiskeysockets/baileys';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import { SendFailure } from '../../driver.js';
import { applyNotice, namesOf } from './changes.js';

/** About 150 bytes per member. */
const MAX_MEMBERS = 20_000;
/** A refusal is not asked for again for this time, so that queued messages to the group cause one query. */
const REFUSED = { max: 1_000, ttlMs: 30_000 };
/** Notices may come while the network answers; after as many queries the answer is taken as it is. */
const MAX_QUERIES = 3;

interface Query {
  answer: Promise<GroupMetadata>;
  /** A notice came meanwhile. The answer may be from before it. */
  isStale: boolean;
}

/**
 * The groups that messages are sent to, or deleted in. The network is asked once for each group; its notices keep the answer current.
 * A connection has its own directory, because notices may be missed between two connections.
 */
export class GroupDirectory {
  /** The group used last is at the end. */
  readonly #known = new Map<string, GroupMetadata>();
  readonly #queries = new Map<string, Query>();
  readonly #refused = new ExpiringMap<SendFailure>(REFUSED);
  readonly #socket: Pick<WASocket, 'ws' | 'groupMetadata'>;
  readonly #isOwn: (jid: string) => boolean;
  #members = 0;

  constructor(socket: Pick<WASocket, 'ws' | 'groupMetadata'>, isOwn: (jid: string) => boolean) {
    this.#socket = socket;
    this.#isOwn = isOwn;
    // Baileys' events come later and merge several notices.
    socket.ws.on('CB:notification,type:w:gp2', (notice: BinaryNode) => this.#update(notice));
    socket.ws.on('CB:ib,,dirty', (notice: BinaryNode) => this.#handleDirty(notice));
  }

  /** The group if it is known; asks nobody. */
  peek(jid: string): GroupMetadata | undefined {
    return this.#known.get(jid);
  }

  /** @throws SendFailure: refused if the number may not see the group */
  async find(jid: string): Promise<GroupMetadata> {
    const known = this.#known.get(jid);
    if (known) {
      this.#keep(jid, known);
      return known;
    }
    const refused = this.#refused.get(jid);
    if (refused) throw refused;
    return (this.#queries.get(jid) ?? this.#ask(jid)).answer;
  }

  /**
   * Checks that the number may send a new message to the group. A member who is not listed may: communities hide
   * members.
   * @throws SendFailure
   */
  async requireMaySend(jid: string): Promise<void> {
    const { announce, participants } = await this.find(jid);
    if (!announce) return;
    const own = participants.find((member) => namesOf(member).some(this.#isOwn));
    if (own && !own.admin) throw SendFailure.refused('wa_error', 'only admins may send to this group');
  }

  /** The next user asks the network again. */
  forget(jid: string): void {
    this.#members -= this.#known.get(jid)?.participants.length ?? 0;
    this.#known.delete(jid);
    this.#refused.delete(jid);
    const query = this.#queries.get(jid);
    if (query) query.isStale = true;
  }

  #ask(jid: string): Query {
    const query: Query = { answer: this.#answer(jid, () => query), isStale: false };
    this.#queries.set(jid, query);
    const end = (): void => void this.#queries.delete(jid);
    query.answer.then(end, end);
    return query;
  }

  async #answer(jid: string, getQuery: () => Query): Promise<GroupMetadata> {
    for (let queries = 1; ; queries++) {
      try {
        const group = await this.#socket.groupMetadata(jid);
        const query = getQuery();
        if (query.isStale && queries < MAX_QUERIES) {
          query.isStale = false;
          continue;
        }
        if (!query.isStale) this.#keep(jid, group);
        return group;
      } catch (error) {
        const failure = toSendFailure(error);
        if (!failure.retriable && !getQuery().isStale) this.#refused.set(jid, failure);
        throw failure;
      }
    }
  }

  #keep(jid: string, group: GroupMetadata): void {
    this.#members += group.participants.length - (this.#known.get(jid)?.participants.length ?? 0);
    this.#known.delete(jid);
    this.#known.set(jid, group);
    for (const oldest of this.#known.keys()) {
      if (this.#members <= MAX_MEMBERS || oldest === jid) break;
      this.forget(oldest);
    }
  }

  /** The network says that notices were lost. */
  #handleDirty({ content }: BinaryNode): void {
    const groups = Array.isArray(content) && content.some(({ attrs }) => attrs['type'] === 'groups');
    if (groups) for (const jid of [...this.#known.keys(), ...this.#queries.keys()]) this.forget(jid);
  }

  #update(notice: BinaryNode): void {
    const jid = notice.attrs['from'];
    if (jid === undefined) return;
    const known = this.#known.get(jid);
    const changed = known && applyNotice(known, notice, this.#isOwn);
    if (changed) this.#keep(jid, changed);
    else this.forget(jid);
  }
}

/** Texts for the network's refusals to show a group. */
const REFUSALS: Readonly<Record<string, SendFailure>> = {
  '400': SendFailure.refused('recipient_not_on_whatsapp', 'this is not the id of a group'),
  '401': SendFailure.refused('wa_error', 'the number is not a member of this group'),
  '403': SendFailure.refused('wa_error', 'the number is not a member of this group'),
  '404': SendFailure.refused('recipient_not_on_whatsapp', 'this group does not exist'),
  '406': SendFailure.refused('recipient_not_on_whatsapp', 'this is not the id of a group'),
  '410': SendFailure.refused('recipient_not_on_whatsapp', 'this group does not exist any more'),
};

/** Baileys passes the code of the network on as the data of its error, or as its status. */
function toSendFailure(error: unknown): SendFailure {
  const { data, output } = error as { data?: unknown; output?: { statusCode?: number } };
  const code = typeof data === 'number' ? data : output?.statusCode;
  return REFUSALS[String(code)] ?? SendFailure.notWritten();
}
