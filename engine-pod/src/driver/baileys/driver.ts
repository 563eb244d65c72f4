import './patches/repairs.js';
import {
  initAuthCreds,
  isJidGroup,
  jidDecode,
  type AuthenticationCreds,
  type proto,
} from '@whiskeysockets/baileys';
import { processClock, type Clock } from '@gwk/core/clock';
import type { OutboundEdit } from '@gwk/core/protocol/commands';
import type { ClaimedMessage, OpenPairing } from '@gwk/core/protocol/engine';
import { canonicalPhone, pairNames, type LinkedNames } from '@gwk/core/ids/recipients';
import type { GroupDetailsOut, GroupOut } from '@gwk/core/resources/group';
import type { Presence } from '@gwk/core/resources/live';
import {
  PasskeyNotAwaited,
  SendFailure,
  type EncodedMessage,
  type ConnectionEvent,
  type Driver,
  type DriverContext,
  type FoundContact,
  type PasskeyStep,
  type ReadMessage,
  type Stanza,
} from '../driver.js';
import { NetworkConnection, type NetworkConnectionOptions } from './connection/network-connection.js';
import { isVersionRefusal, VERSION_EXPECTED } from './connection/disconnects.js';
import { NetworkRoute } from './connection/network-route.js';
import { viewDetails } from './groups/view.js';
import { getOwnIds, type OwnIds } from './receive/normalise/envelope.js';
import { isAdmin } from './receive/group-admins.js';
import { Inbox } from './receive/inbox.js';
import { storeReceivedFile } from './receive/media/received-file.js';
import { storeReceipts } from './receive/screen/receipts.js';
import type { RequestedMessage } from './receive/screen/retry-requests.js';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import { withTimeout } from '@gwk/core/async/timeout';
import { MessageSecrets } from './receive/normalise/message-secrets.js';
import { MissingMessages } from './receive/missing/missing-messages.js';
import { buildMessage } from './send/build.js';
import { decodeBuiltMessage, readPollSecret, type BuiltMessage } from './send/built-message.js';
import { buildEdit } from './send/build-edit.js';
import { prepareContext, type ContextFacts } from './send/content/context.js';
import { RestrictionReporter } from './send/restriction.js';
import { sendMessage } from './send/message-sender.js';
import { askNetwork } from './send/ask-network.js';
import { readPhone, Recipients } from './send/recipients.js';
import { requireAdmin } from './send/group-admin.js';
import { uploadFile } from './send/upload.js';
import { forgetSession, loadCredentials } from './session/credentials.js';
import { SessionStore } from './session/store.js';
import { Journal } from './receive/journal.js';
import { trustNetwork, type NetworkSettings } from './patches/network-trust.js';
import { normaliseJid } from './stanza-attrs.js';

type Emit = (event: ConnectionEvent) => void;

/** One call of `connect`, which may open several sockets. */
interface ConnectionAttempt {
  pairing: OpenPairing | null;
  /** Another attempt has begun, or the connection was closed. */
  isStale: () => boolean;
  emit: Emit;
}

const LOGOUT_MS = 10_000;
const STORED_NAMES = { max: 10_000, ttlMs: 6 * 3_600_000 };
const SENT_EDITS = { max: 200, ttlMs: 10 * 60_000 };

/** Connects one instance to the network through Baileys. */
export class BaileysDriver implements Driver {
  readonly #context: DriverContext;
  readonly #network: NetworkSettings;
  readonly #route: NetworkRoute;
  readonly #clock: Clock;
  #recipients!: Recipients;
  /** LIDs that the API knows, by phone number. */
  #storedNames!: ExpiringMap<string>;
  /** Edits sent recently. The API does not store them in the form in which they were sent. */
  readonly #sentEdits = new ExpiringMap<Pick<BuiltMessage, 'chat' | 'message'>>(SENT_EDITS);
  #store!: SessionStore;
  #journal!: Journal;
  #inbox!: Inbox;
  #missing!: MissingMessages;
  /** Aborted when the session ends; nothing waits any longer. */
  #sessionEnd!: AbortController;
  #creds: AuthenticationCreds | undefined;
  readonly #restrictions: RestrictionReporter;
  #connection: NetworkConnection | undefined;
  /** Number of the current connection. Events of earlier ones are ignored. */
  #connectionNumber = 0;

  constructor(context: DriverContext, network: NetworkSettings, clock: Clock = processClock) {
    this.#context = context;
    this.#network = network;
    this.#route = new NetworkRoute(network.agents);
    this.#clock = clock;
    this.#restrictions = new RestrictionReporter(context);
    trustNetwork(network);
    this.#startSession();
  }

  connect(listen: Emit, pairing: OpenPairing | null): void {
    const connectionNumber = ++this.#connectionNumber;
    const isStale = (): boolean => connectionNumber !== this.#connectionNumber;
    const emit: Emit = (event) => {
      if (!isStale()) listen(event);
    };
    this.#connect({ pairing, isStale, emit }).catch((error: unknown) => {
      this.#context.log.warn({ err: error }, 'session could not be loaded');
      emit({ kind: 'closed', disconnect: { kind: 'dropped', reason: 'session_unavailable' } });
    });
  }

  async close(): Promise<void> {
    this.#connectionNumber += 1;
    this.#connection?.close();
    this.#connection = undefined;
  }

  async logout(): Promise<boolean> {
    const creds = this.#creds ?? (await loadCredentials(this.#store));
    if (!creds) return true;
    const unlinked = await this.#unlink().catch(() => false);
    await this.close();
    this.#sessionEnd.abort();
    await this.#inbox.waitUntilEmpty();
    await this.#forgetSession();
    return unlinked;
  }

  async takePasskey(step: PasskeyStep): Promise<void> {
    if (!this.#connection) throw new PasskeyNotAwaited();
    await this.#connection.takePasskey(step);
  }

  async checkContact(name: string): Promise<FoundContact | null> {
    return this.#recipients.check(this.#requireOpen().socket, name);
  }

  async markRead(chat: string, messages: readonly ReadMessage[]): Promise<void> {
    const { socket } = this.#requireOpen();
    const remoteJid = await this.#recipients.address(socket, chat);
    const keys = messages.map(({ wa_message_id: id, participant, list }) => ({
      ...(list === undefined ? { remoteJid } : { remoteJid: list, participant: remoteJid }),
      ...{ id, fromMe: false },
      ...(participant !== null && { participant }),
    }));
    await askNetwork(() => socket.readMessages(keys));
  }

  async sendPresence(chat: string, presence: Presence): Promise<void> {
    const { socket, typing } = this.#requireOpen();
    const address = await this.#recipients.address(socket, chat);
    await askNetwork(() => typing.show(address, presence));
  }

  async listGroups(): Promise<GroupOut[]> {
    return this.#requireOpen().groupList.read();
  }

  async findGroup(jid: string): Promise<GroupDetailsOut> {
    const group = await this.#requireOpen().groups.find(jid);
    return viewDetails(group, (name) => this.#isOwn(name));
  }

  async build(message: ClaimedMessage): Promise<EncodedMessage> {
    const creds = this.#creds;
    if (!creds) throw SendFailure.notWritten();
    await this.#learnNames(message.chat);
    return buildMessage(message, {
      facts: this.#getContextFacts(),
      key: creds.signedIdentityKey.private,
      findRegistered: async (phones) =>
        phones.length === 0
          ? new Map<string, string>()
          : this.#recipients.findRegistered(this.#requireOpen().socket, phones),
      upload: (file) => uploadFile(this.#requireOpen(), this.#context, file),
    });
  }

  async send({ bytes, ...stanza }: Stanza): Promise<void> {
    const built = decodeBuiltMessage(bytes);
    const connection = this.#requireOpen();
    if (isJidGroup(stanza.chat)) await connection.groups.requireMaySend(stanza.chat);
    await sendMessage(connection, this.#recipients, { ...stanza, built });
    // Not awaited: it may read the store, and the message is acknowledged.
    void this.#endTyping(connection, stanza.chat);
  }

  /** A message ends the typing state that its chat has by any id. */
  async #endTyping({ typing }: NetworkConnection, chat: string): Promise<void> {
    for (const address of typing.chats) {
      if (await this.#isSameChat(address, chat).catch(() => false)) typing.end(address);
    }
  }

  async edit(edit: OutboundEdit, options: Pick<Stanza, 'mayWrite' | 'signal'>): Promise<void> {
    const connection = this.#requireOpen();
    const { stanza_id, message } = edit;
    const chat = await this.#recipients.address(connection.socket, message.chat);
    if (edit.kind === 'delete' && !message.from_me && isJidGroup(chat))
      await requireAdmin(connection.socket, chat, (jid) => this.#isOwn(jid));
    const built = await this.#buildEdit(edit, chat);
    this.#sentEdits.set(stanza_id, { chat, message: built.message });
    await sendMessage(connection, this.#recipients, { ...options, waMessageId: stanza_id, chat, built });
  }

  async #buildEdit(given: OutboundEdit, chat: string): Promise<BuiltMessage> {
    const edit = { ...given, message: { ...given.message, chat } };
    if (edit.kind !== 'edit') return buildEdit(edit);
    const { mentions = [], text } = edit;
    const isHere = edit.quoted?.chat === given.message.chat;
    const quoted = edit.quoted ? { ...edit.quoted, ...(isHere && { chat }) } : null;
    const facts = { ...this.#getContextFacts(), skipStrangers: true };
    const { contextInfo, rewrite } = await prepareContext({ chat, quoted, mentions }, facts);
    return buildEdit({ ...edit, text: rewrite(text) }, contextInfo);
  }

  #getContextFacts(): ContextFacts {
    return {
      own: this.#getOwnIds(),
      isOwn: (jid) => this.#isOwn(jid),
      findGroup: (chat) => this.#requireOpen().groups.find(chat),
      findLids: async (phones) => this.#recipients.findLids(this.#requireOpen().socket, phones),
    };
  }

  /**
   * Reports the LID of a phone number before a message to it is built, because its contact may have opted out under it.
   * @throws SendFailure
   */
  async #learnNames(chat: string): Promise<void> {
    const own = this.#getOwnIds();
    if (chat === own.lid) return this.#storeNames(pairNames(own.jid, own.lid));
    const phone = readPhone(chat);
    if (phone === null) return;
    const found = await this.#recipients.find(this.#requireOpen().socket, phone);
    if (found === null) throw SendFailure.refused('recipient_not_on_whatsapp');
    const { jid, lid } = found;
    // The registered number comes last, because the newest one is shown.
    for (const name of new Set([chat, jid])) {
      if (name !== jid && canonicalPhone(phone) === canonicalPhone(readPhone(jid) ?? '')) continue;
      await this.#storeNames(lid === null ? null : pairNames(name, lid));
    }
  }

  async #storeNames(names: LinkedNames | null): Promise<void> {
    if (names === null || this.#storedNames.get(names.phone) === names.lid) return;
    await this.#context.storeNames(names);
    this.#storedNames.set(names.phone, names.lid);
  }

  /** Starts a session from its beginning. Nothing known of an earlier session is used. */
  #startSession(): void {
    const { session, log, storeInbound, storeFile: keep, countIgnored } = this.#context;
    this.#recipients = new Recipients();
    this.#storedNames = new ExpiringMap(STORED_NAMES);
    this.#store = new SessionStore(session, (error) => this.#loseSession(error));
    this.#journal = new Journal(this.#store, (name, entry) => inbox.enqueue(name, entry));
    this.#missing = new MissingMessages(this.#store, this.#journal, this.#clock);
    const leaving = (this.#sessionEnd = new AbortController());
    const findGroups = () => this.#findOpen()?.groups ?? null;
    const admins = { findGroups, signal: leaving.signal, log, clock: this.#clock };
    const inbox = (this.#inbox = new Inbox({
      journal: this.#journal,
      secrets: new MessageSecrets(this.#store),
      missing: this.#missing,
      log,
      getOwnIds: () => this.#getOwnIds(),
      getIdentityKey: () => this.#creds!.signedIdentityKey.private,
      readPollSecret: (id) => readPollSecret(this.#context, id),
      findOtherId: (jid) => this.#findOtherId(jid),
      storeFile: (envelope) =>
        storeReceivedFile(envelope, {
          findConnection: () => this.#findOpen(),
          storeFile: keep,
          route: this.#route,
          signal: leaving.signal,
          clock: this.#clock,
        }),
      isAdmin: (group, member) => isAdmin(admins, group, member),
      countIgnored,
      deliver: storeInbound,
    }));
  }

  /** Restarts from the stored session: the one in memory differs from it, so the engine must not send with it. */
  #loseSession(error: unknown): void {
    this.#context.log.error({ err: error }, 'session could not be stored');
    this.#connection?.fail('session_unavailable');
    this.#creds = undefined;
    this.#startSession();
  }

  /** @param replacement the client version to announce after the network has refused another */
  async #connect(attempt: ConnectionAttempt, replacement?: string): Promise<void> {
    const { pairing, isStale, emit } = attempt;
    if (pairing) await this.#forgetSession();
    const creds = pairing ? initAuthCreds() : await this.#loadSession(isStale);
    if (isStale()) return;
    if (!creds) return emit({ kind: 'closed', disconnect: { kind: 'logged-out', reason: 'no_session' } });
    const { clientVersions } = this.#context;
    const version = replacement ?? (await clientVersions.choose(pairing !== null));
    if (isStale()) return;
    if (version === null) return emit({ kind: 'closed', disconnect: VERSION_EXPECTED });
    this.#creds = creds;
    this.#connection = this.#openConnection({ creds, pairing, version }, (event) => {
      if (event.kind === 'opened') clientVersions.confirm(version);
      if (!isVersionRefusal(event)) return emit(event);
      this.#replaceVersion(version, attempt, event).catch((error: unknown) => {
        this.#context.log.warn({ err: error }, 'connection not repeated with another client version');
        emit(event);
      });
    });
  }

  /** Connects again with another client version, if the API knows one that may succeed. */
  async #replaceVersion(refused: string, attempt: ConnectionAttempt, event: ConnectionEvent): Promise<void> {
    const { clientVersions } = this.#context;
    const version = await clientVersions.replaceRefused(refused, attempt.pairing !== null);
    if (attempt.isStale()) return;
    if (version !== null) return this.#connect(attempt, version);
    attempt.emit(clientVersions.isExpected ? { kind: 'closed', disconnect: VERSION_EXPECTED } : event);
  }

  #openConnection(
    { creds, pairing, version }: Pick<NetworkConnectionOptions, 'creds' | 'pairing' | 'version'>,
    emit: Emit,
  ): NetworkConnection {
    const connection = new NetworkConnection({
      creds,
      pairing,
      version,
      emit,
      missing: this.#missing,
      store: this.#store,
      journal: this.#journal,
      url: this.#network.url,
      route: this.#route,
      log: this.#context.log,
      isLeased: this.#context.isLeased,
      isOwn: (jid) => this.#isOwn(jid),
      notices: {
        ...this.#context,
        isOwn: (jid) => this.#isOwn(jid),
        findOtherId: (jid) => this.#findOtherId(jid),
      },
      findSent: (requested) => this.#findSentMessage(requested),
      clock: this.#clock,
    });
    this.#restrictions.listen(connection.socket);
    storeReceipts(connection.socket, (jid) => this.#isOwn(jid), this.#context.storeReceipt);
    return connection;
  }

  /**
   * Finds a sent message for a device that could not decrypt it. The device may never ask again, so its request is
   * acknowledged only after it is answered.
   */
  async #findSentMessage({ id, chat }: RequestedMessage): Promise<proto.IMessage | undefined> {
    const edit = this.#sentEdits.get(id);
    const bytes = edit ? null : await this.#context.readSentMessage(id).catch(() => null);
    const sent = edit ?? (bytes && decodeBuiltMessage(bytes));
    return sent?.chat !== undefined && (await this.#isSameChat(chat, sent.chat)) ? sent.message : undefined;
  }

  /** Compares both ids of a contact, which may be addressed by one and answer by the other. */
  async #isSameChat(one: string, other: string): Promise<boolean> {
    const [from, to] = [normaliseJid(one), normaliseJid(other)];
    if (from === to) return true;
    if (isJidGroup(from) || isJidGroup(to)) return false;
    const names = [from, await this.#findOtherId(from)];
    if (names.includes(to)) return true;
    const { user, server } = jidDecode(to) ?? {};
    const connection = this.#findOpen();
    if (!connection || !user || server !== 's.whatsapp.net') return false;
    // A phone may be on the network under another number than the one it was addressed by.
    const found = await this.#recipients.find(connection.socket, user).catch(() => null);
    return found !== null && names.includes(found.jid);
  }

  /** Loads the stored credentials and the journal entries that an earlier engine left. */
  async #loadSession(isStale: () => boolean): Promise<AuthenticationCreds | null> {
    const creds = this.#creds?.account ? this.#creds : await loadCredentials(this.#store);
    if (!creds || isStale()) return creds;
    this.#creds = creds;
    await this.#journal.load();
    return creds;
  }

  async #forgetSession(): Promise<void> {
    this.#creds = undefined;
    await forgetSession(this.#store);
    this.#startSession();
  }

  async #unlink(): Promise<boolean> {
    const connection = this.#findOpen() ?? (await this.#reconnect());
    const { socket } = connection;
    const jid = socket.user?.id;
    if (!jid) return false;
    const closed = new Promise<boolean>((resolve) => {
      connection.closed.addEventListener('abort', () => resolve(true));
    });
    const answered = socket
      .query(
        {
          tag: 'iq',
          attrs: { to: 's.whatsapp.net', type: 'set', xmlns: 'md' },
          content: [{ tag: 'remove-companion-device', attrs: { jid, reason: 'user_initiated' } }],
        },
        LOGOUT_MS,
      )
      .then((answer: unknown) => answer !== undefined);
    // The network may close the connection in place of an answer.
    return Promise.race([answered, closed]);
  }

  /** Connects only to log out. */
  #reconnect(): Promise<NetworkConnection> {
    const { promise, resolve, reject } = Promise.withResolvers<NetworkConnection>();
    this.connect((event) => {
      if (event.kind === 'opened') resolve(this.#connection!);
      if (event.kind === 'closed') reject(new Error('connection ended'));
    }, null);
    return withTimeout(promise, LOGOUT_MS, () => {
      throw new Error('connection timed out');
    });
  }

  /** @throws SendFailure */
  #requireOpen(): NetworkConnection {
    const connection = this.#findOpen();
    if (!connection) throw SendFailure.notWritten();
    return connection;
  }

  #findOpen(): NetworkConnection | null {
    return this.#connection?.open ? this.#connection : null;
  }

  #getOwnIds(): OwnIds {
    return getOwnIds(this.#creds ?? { me: undefined });
  }

  #isOwn(jid: string): boolean {
    const user = jidDecode(jid)?.user;
    const { jid: own, lid } = this.#getOwnIds();
    return user !== undefined && [own, lid].some((name) => name && jidDecode(name)?.user === user);
  }

  async #findOtherId(jid: string): Promise<string | null> {
    const { user, server } = jidDecode(jid) ?? {};
    if (!user) return null;
    const key = server === 'lid' ? `${user}_reverse` : user;
    const { [key]: other } = await this.#store.read('lid-mapping', [key]);
    if (typeof other !== 'string') return null;
    return normaliseJid(server === 'lid' ? `${other}@s.whatsapp.net` : `${other}@lid`);
  }
}
