import './patches/repairs.js';
import {
  isJidGroup,
  jidDecode,
  jidNormalizedUser,
  type AuthenticationCreds,
  type BinaryNode,
  type proto,
} from '@whiskeysockets/baileys';
import type { OutboundEdit } from '@gwk/core/protocol/edits';
import type { ClaimedMessage, OpenPairing } from '@gwk/core/protocol/engine';
import type { Presence } from '@gwk/core/resources/live';
import {
  SendFailure,
  type Built,
  type ConnectionEvent,
  type Driver,
  type DriverContext,
  type ReadMessage,
  type Stanza,
} from '../driver.js';
import { Link, type LinkTimes } from './connection/link.js';
import { ownOf, type Own } from './receive/normalise/envelope.js';
import { Inbox } from './receive/inbox.js';
import { keepFile } from './receive/media/received-file.js';
import { storeReceipts } from './receive/screen/receipts.js';
import type { Asked } from './receive/screen/retry-requests.js';
import { Recent } from './expiring-map.js';
import { MessageSecrets } from './receive/normalise/message-secrets.js';
import { Unavailable, withheldIn } from './receive/missing/missing-messages.js';
import { buildMessage } from './send/build.js';
import { unpackBuilt, type BuiltMessage } from './send/built-message.js';
import { buildChange } from './send/build-edit.js';
import { listenForRestriction } from './send/restriction.js';
import { Sending } from './send/message-sender.js';
import { uploadFile } from './send/upload.js';
import { forgetSession, loadCredentials, newCredentials } from './session/credentials.js';
import { SessionStore } from './session/store.js';
import { Journal } from './receive/journal.js';
import { trustNetwork, type NetworkSettings } from './patches/network-trust.js';

type Tell = (event: ConnectionEvent) => void;

const LOGOUT_MS = 10_000;
const KEPT_CHANGES = { max: 200, forMs: 10 * 60_000 };
const PRESENCES = { typing: 'composing', recording: 'recording', paused: 'paused' } as const satisfies Record<
  Presence,
  string
>;

/** A number on the network, through Baileys. */
export class BaileysDriver implements Driver {
  readonly #context: DriverContext;
  readonly #network: NetworkSettings;
  readonly #times: LinkTimes;
  readonly #sending = new Sending();
  /** What left as a change lately, which the API does not keep as it left. */
  readonly #changes = new Recent<Pick<BuiltMessage, 'chat' | 'message'>>(KEPT_CHANGES);
  #store!: SessionStore;
  #journal!: Journal;
  #inbox!: Inbox;
  #unavailable!: Unavailable;
  /** Of the session: nothing more is waited for. */
  #leaving!: AbortController;
  #creds: AuthenticationCreds | undefined;
  #restricted: Promise<void> = Promise.resolve();
  #link: Link | undefined;
  /** Each connection has a number; what an earlier one still does is not heard. */
  #connection = 0;

  constructor(context: DriverContext, network: NetworkSettings, times: LinkTimes = {}) {
    this.#context = context;
    this.#network = network;
    this.#times = times;
    trustNetwork(network);
    this.#begin();
  }

  connect(listen: Tell, pairing: OpenPairing | null): void {
    const connection = ++this.#connection;
    const tell: Tell = (event) => {
      if (connection === this.#connection) listen(event);
    };
    this.#connect(pairing, connection, tell).catch((error: unknown) => {
      this.#context.log.warn({ err: error }, 'the session cannot be had');
      tell({ kind: 'closed', how: { kind: 'dropped', reason: 'session_unavailable' } });
    });
  }

  async close(): Promise<void> {
    this.#connection += 1;
    this.#link?.close();
    this.#link = undefined;
  }

  async logout(): Promise<boolean> {
    const creds = this.#creds ?? (await loadCredentials(this.#store));
    if (!creds) return true;
    const unlinked = await this.#unlink().catch(() => false);
    await this.close();
    this.#leaving.abort();
    await this.#inbox.drained();
    await this.#forget();
    return unlinked;
  }

  async checkContact(phone: string): Promise<string | null> {
    return this.#sending.people.find(this.#open().socket, phone);
  }

  async markRead(chat: string, messages: readonly ReadMessage[]): Promise<void> {
    const keys = messages.map(({ wa_message_id, participant }) => ({
      remoteJid: chat,
      id: wa_message_id,
      fromMe: false,
      ...(participant !== null && { participant }),
    }));
    await onNetwork(this.#open().socket.readMessages(keys));
  }

  async sendPresence(chat: string, presence: Presence): Promise<void> {
    await onNetwork(this.#open().socket.sendPresenceUpdate(PRESENCES[presence], chat));
  }

  async build(message: ClaimedMessage): Promise<Built> {
    const creds = this.#creds;
    if (!creds) throw SendFailure.notWritten();
    return buildMessage(message, {
      own: this.#own().jid,
      key: creds.signedIdentityKey.private,
      upload: (given, content) => uploadFile(this.#open().media, this.#context, { message: given, content }),
    });
  }

  async send(stanza: Stanza): Promise<void> {
    return this.#sending.sendBuilt(this.#open(), stanza);
  }

  async change(change: OutboundEdit, writing: Pick<Stanza, 'mayWrite' | 'signal'>): Promise<void> {
    const { stanza_id, message } = change;
    const built = buildChange(change);
    this.#changes.set(stanza_id, { chat: message.chat, message: built.message });
    await this.#sending.send(this.#open(), { ...writing, waMessageId: stanza_id, chat: message.chat, built });
  }

  /** Of a session from its beginning: what is known of another one counts for nothing. */
  #begin(): void {
    const { session, log, inbound, keepFile: keep } = this.#context;
    this.#store = new SessionStore(session, (error) => this.#lost(error));
    this.#journal = new Journal(this.#store);
    this.#unavailable = new Unavailable(this.#store, this.#times.clock);
    const leaving = (this.#leaving = new AbortController());
    this.#inbox = new Inbox({
      journal: this.#journal,
      secrets: new MessageSecrets(this.#store),
      unavailable: this.#unavailable,
      log,
      own: () => this.#own(),
      key: () => this.#creds!.signedIdentityKey.private,
      otherName: (jid) => this.#otherName(jid),
      media: (envelope) =>
        keepFile(envelope, {
          link: () => this.#openOrNull(),
          keepFile: keep,
          over: leaving.signal,
          ...this.#times,
        }),
      deliver: inbound,
    });
  }

  /** What is in memory is no longer what is stored: nothing may leave on the strength of it. */
  #lost(error: unknown): void {
    this.#context.log.error({ err: error }, 'the session cannot be stored');
    this.#link?.fail('session_unavailable');
    this.#creds = undefined;
    this.#begin();
  }

  async #connect(pairing: OpenPairing | null, connection: number, tell: Tell): Promise<void> {
    const isStale = (): boolean => connection !== this.#connection;
    if (pairing) await this.#forget();
    const creds = pairing ? newCredentials() : await this.#load(isStale);
    if (isStale()) return;
    if (!creds) return tell({ kind: 'closed', how: { kind: 'logged-out', reason: 'no_session' } });
    this.#creds = creds;
    this.#link = this.#openLink(creds, pairing, tell);
  }

  #openLink(creds: AuthenticationCreds, pairing: OpenPairing | null, tell: Tell): Link {
    const unavailable = this.#unavailable;
    const link: Link = new Link({
      creds,
      pairing,
      tell: (event) => {
        tell(event);
        // Of no importance to anybody who waits for the connection; what fails is asked for with the next one.
        if (event.kind === 'opened')
          unavailable.askBy({ socket: link.socket, own: (jid) => this.#isOwn(jid) }).catch(() => undefined);
      },
      missing: (stanza) => this.#withheld(stanza) ?? unavailable.note(stanza),
      unreadable: (stanza) => unavailable.noteUnreadable(stanza),
      store: this.#store,
      journal: this.#journal,
      journalled: (name, entry) => this.#inbox.take(name, entry),
      url: this.#network.url,
      log: this.#context.log,
      leased: this.#context.leased,
      own: (jid) => this.#isOwn(jid),
      sentMessage: (asked) => this.#sentMessage(asked),
      times: this.#times,
    });
    this.#sending.attach(link);
    listenForRestriction(link.socket, (until) => {
      this.#context.log.warn({ until }, 'the network restricts the number');
      // One after the other: an end that overtakes its beginning would be undone by it.
      this.#restricted = this.#restricted.then(() => this.#context.restricted(until)).catch(() => undefined);
    });
    storeReceipts(link.socket, (jid) => this.#isOwn(jid), this.#context.receipt);
    return link;
  }

  /** Of a message that will never be more than told of: told as any other. Null for all others. */
  #withheld(stanza: BinaryNode): Promise<void> | null {
    const told = withheldIn(stanza);
    if (!told) return null;
    const inbox = this.#inbox;
    return this.#journal.add(stanza.attrs, told).then((added) => {
      if (added) inbox.take(...added);
    });
  }

  /** For a device that could not read it, and may never ask again: the network hears of its request once it is answered. */
  async #sentMessage({ id, chat }: Asked): Promise<proto.IMessage | undefined> {
    const change = this.#changes.get(id);
    const bytes = change ? null : await this.#context.readSent(id).catch(() => null);
    const sent = change ?? (bytes && unpackBuilt(bytes));
    return sent?.chat !== undefined && (await this.#isOneChat(chat, sent.chat)) ? sent.message : undefined;
  }

  /** By whichever of their names: a contact may be written to by one and answer by another. */
  async #isOneChat(one: string, other: string): Promise<boolean> {
    const [asked, to] = [jidNormalizedUser(one), jidNormalizedUser(other)];
    if (asked === to) return true;
    if (isJidGroup(asked) || isJidGroup(to)) return false;
    const names = [asked, await this.#otherName(asked)];
    if (names.includes(to)) return true;
    const { user, server } = jidDecode(to) ?? {};
    const link = this.#openOrNull();
    if (!link || !user || server !== 's.whatsapp.net') return false;
    // A phone may be on the network by another number than the one that it was written to by.
    const found = await this.#sending.people.find(link.socket, user).catch(() => null);
    return found !== null && names.includes(jidNormalizedUser(found));
  }

  /** The credentials as they are stored, and what an earlier engine has left in the journal. */
  async #load(isStale: () => boolean): Promise<AuthenticationCreds | null> {
    if (this.#creds?.account) return this.#creds;
    const creds = await loadCredentials(this.#store);
    if (!creds || isStale()) return creds;
    this.#creds = creds;
    for (const [name, entry] of await this.#journal.load()) this.#inbox.take(name, entry);
    return creds;
  }

  async #forget(): Promise<void> {
    this.#creds = undefined;
    await forgetSession(this.#store);
    this.#begin();
  }

  async #unlink(): Promise<boolean> {
    const link = this.#openOrNull() ?? (await this.#reconnect());
    const { socket } = link;
    const jid = socket.user?.id;
    if (!jid) return false;
    const gone = new Promise<boolean>((resolve) => {
      link.over.addEventListener('abort', () => resolve(true));
    });
    const asked = socket
      .query(
        {
          tag: 'iq',
          attrs: { to: 's.whatsapp.net', type: 'set', xmlns: 'md' },
          content: [{ tag: 'remove-companion-device', attrs: { jid, reason: 'user_initiated' } }],
        },
        LOGOUT_MS,
      )
      .then((answer: unknown) => answer !== undefined);
    // The network may cut the connection in place of an answer.
    return Promise.race([asked, gone]);
  }

  /** For as long as it takes to say goodbye. */
  #reconnect(): Promise<Link> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('no connection in time')), LOGOUT_MS);
      this.connect((event) => {
        if (event.kind !== 'opened' && event.kind !== 'closed') return;
        clearTimeout(timer);
        if (event.kind === 'opened') resolve(this.#link!);
        else reject(new Error('the connection has ended'));
      }, null);
    });
  }

  /** @throws SendFailure */
  #open(): Link {
    const link = this.#openOrNull();
    if (!link) throw SendFailure.notWritten();
    return link;
  }

  #openOrNull(): Link | null {
    return this.#link?.open ? this.#link : null;
  }

  #own(): Own {
    return ownOf(this.#creds ?? { me: undefined });
  }

  #isOwn(jid: string): boolean {
    const user = jidDecode(jid)?.user;
    const { jid: own, lid } = this.#own();
    return user !== undefined && [own, lid].some((name) => name && jidDecode(name)?.user === user);
  }

  async #otherName(jid: string): Promise<string | null> {
    const { user, server } = jidDecode(jid) ?? {};
    if (!user) return null;
    const key = server === 'lid' ? `${user}_reverse` : user;
    const { [key]: other } = await this.#store.read('lid-mapping', [key]);
    if (typeof other !== 'string') return null;
    return jidNormalizedUser(server === 'lid' ? `${other}@s.whatsapp.net` : `${other}@lid`);
  }
}

/** Of what is no message: it was not done. */
async function onNetwork(doing: Promise<void>): Promise<void> {
  try {
    await doing;
  } catch {
    throw SendFailure.notWritten();
  }
}
