import {
  DEFAULT_CACHE_TTLS,
  getBinaryNodeChild,
  makeWASocket,
  type AuthenticationCreds,
  type BinaryNode,
  type ConnectionState,
  type GroupMetadata,
  type PossiblyExtendedCacheStore,
  type WASocket,
  type WAVersion,
} from '@whiskeysockets/baileys';
import type { OpenPairing } from '@gwk/core/protocol/engine';
import type { Clock } from '@gwk/core/clock';
import { OTHER_ACCOUNT } from '@gwk/core/states';
import type { Logger } from '@gwk/core/process/log';
import { PasskeyNotAwaited, type ConnectionEvent, type Disconnect, type PasskeyStep } from '../../driver.js';
import { saveCredentials } from '../session/credentials.js';
import { GroupDirectory } from '../groups/group-directory.js';
import { GroupList } from '../groups/group-list.js';
import type { SessionStore } from '../session/store.js';
import { getOwnIds } from '../receive/normalise/envelope.js';
import { ReceivePipeline, type ReceivePipelineOptions } from '../receive/pipeline.js';
import { createSignalRepository } from '../session/signal-repository.js';
import { createBaileysLogger } from './baileys-logger.js';
import {
  classifyCodeRefusal,
  classifyDisconnect,
  classifyPairingDisconnect,
  parseDisconnectError,
} from './disconnects.js';
import NodeCache from '../patches/replacements/node-cache.js';
import { MediaHosts } from '../patches/media-hosts.js';
import { refuseOtherAccounts } from '../patches/other-accounts.js';
import { handleCalls } from '../notices/calls.js';
import { forgetChangedDevices } from '../notices/devices.js';
import { storeGroupChanges } from '../notices/group-changes.js';
import { storeUsernames } from '../notices/usernames.js';
import type { NetworkRoute } from './network-route.js';
import { PasskeyCeremony } from './passkey-ceremony.js';
import { NoticeReporter, type NoticeServices } from '../notices/reporter.js';
import { useConversationTransactions } from '../patches/conversation-transactions.js';
import { ignoreBrokenFrames, ignoreUnsolicitedStanzas } from '../patches/ignored-stanzas.js';
import { BROWSER, QR_MS, QrCodes } from '../patches/qr-codes.js';
import { preventUntypedPresence } from '../patches/untyped-presence.js';
import { WriteGuard } from '../patches/write-guard.js';
import { Typing } from '../send/typing.js';

export interface NetworkConnectionOptions extends Omit<ReceivePipelineOptions, 'holdFrames'> {
  creds: AuthenticationCreds;
  store: SessionStore;
  /** Null: log in with the stored credentials. */
  pairing: OpenPairing | null;
  /** Client version to announce, as `2.3000.1044142122`. */
  version: string;
  /** Address of the network; undefined: the real network. */
  url: string | undefined;
  route: NetworkRoute;
  isLeased: () => boolean;
  notices: NoticeServices;
  emit: (event: ConnectionEvent) => void;
  clock: Clock;
}

/** A pairing code is valid as long as the six references that the network gives. */
const CODE_MS = 6 * QR_MS;
/** Longest time to open the socket. */
const CONNECT_MS = 20_000;
const SOCKET_TIMINGS = {
  // With a limit, Baileys makes three stack traces for each frame that it writes. #watchFrames limits the time to connect,
  // and the write guard the time of a write.
  connectTimeoutMs: 0,
  defaultQueryTimeoutMs: 10_000,
  keepAliveIntervalMs: 20_000,
};
/** A connection without a frame for 30 s is dead, because pings are answered more often. */
const UNRESPONSIVE_MS = 30_000;

/**
 * One connection to the network, from opening its socket to its end. It reports the end once.
 *
 *     makeWASocket ─▶ patches/ (ignored stanzas, write guard, conversation transactions) ─▶ receive/pipeline.ts
 *          │
 *          ├─ pairing: qr or pairing-code ─▶ paired ─┐
 *          └─ login: opened ─▶ messages in and out ──┴─▶ closed (reason: disconnects.ts)
 *
 * A pairing is confirmed to the network only after the credentials are stored.
 */
export class NetworkConnection {
  readonly socket: WASocket;
  readonly log: Logger;
  readonly media: MediaHosts;
  readonly typing: Typing;
  readonly groups: GroupDirectory;
  readonly groupList: GroupList;
  readonly #options: NetworkConnectionOptions;
  readonly #guard: WriteGuard;
  readonly #closing = new AbortController();
  readonly #clock: Clock;
  /** Until the first frame: the time of the start. */
  #lastFrameAt: number;
  #stopWatching: () => void = () => undefined;
  #isOpen = false;
  #isPaired = false;
  #codeRequested = false;
  readonly #codes: QrCodes;
  #passkey: PasskeyCeremony | undefined;

  constructor(options: NetworkConnectionOptions) {
    this.#options = options;
    this.log = options.log;
    this.#clock = options.clock;
    this.#lastFrameAt = this.#clock.now();
    const holdFrames = (until: Promise<void>): void => this.#guard.hold(until);
    const pipeline = new ReceivePipeline({ ...options, holdFrames });
    this.socket = openSocket(options, pipeline, (jid) => this.groups.peek(jid));
    this.groups = new GroupDirectory(this.socket, options.isOwn);
    this.groupList = new GroupList(this.socket, options.isOwn, this.#clock);
    ignoreBrokenFrames(this.socket, options.log);
    ignoreUnsolicitedStanzas(this.socket);
    this.#reportNotices();
    refuseOtherAccounts(this.socket, options.pairing?.account ?? null, () =>
      this.#end({ kind: 'pairing-failed', reason: OTHER_ACCOUNT }),
    );
    this.#guard = new WriteGuard(this.socket, options.isLeased, this.#clock);
    this.media = new MediaHosts(this.socket, options.log, options.route);
    this.typing = new Typing(this.socket, this.#clock);
    // A new connection announces the name itself.
    preventUntypedPresence(this.socket, () => this.open && this.typing.announceName());
    useConversationTransactions(this.socket, options.store);
    pipeline.attach(this.socket);
    this.socket.ws.on('frame', () => (this.#lastFrameAt = this.#clock.now()));
    this.#codes = new QrCodes(this.socket, {
      creds: options.creds,
      clock: this.#clock,
      show: (code) => this.#showCode(code),
      ended: () => this.#end({ kind: 'pairing-failed', reason: 'codes_unread' }),
    });
    this.#preparePasskey();
    this.socket.ev.on('creds.update', () => this.#saveCredentials());
    this.socket.ev.on('connection.update', (update) => this.#handleUpdate(update));
    this.#watchFrames();
  }

  get open(): boolean {
    return this.#isOpen && !this.#closing.signal.aborted;
  }

  /** Aborted once the connection has ended. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Writes nothing and reports nothing from now on. */
  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.#stopWatching();
    this.typing.close();
    this.#codes.stop();
    this.#passkey?.close();
    this.#guard.sever();
    // Ends Baileys' timers and listeners; the socket is already closed.
    void this.socket.end(undefined).catch(() => undefined);
  }

  /** @throws PasskeyNotAwaited */
  async takePasskey(step: PasskeyStep): Promise<void> {
    if (!this.#passkey) throw new PasskeyNotAwaited();
    await this.#passkey.take(step);
  }

  /** Ends the connection from this side and reports it. */
  fail(reason: string): void {
    this.log.info({ reason }, 'connection ended');
    this.#end({ kind: 'dropped', reason });
  }

  #reportNotices(): void {
    const { notices } = this.#options;
    const reporter = new NoticeReporter(notices, () => this.fail('notices_dropped'));
    handleCalls(this.socket, reporter, notices);
    storeGroupChanges(this.socket, reporter, notices);
    storeUsernames(this.socket, notices);
    forgetChangedDevices(this.socket, notices);
  }

  #saveCredentials(): void {
    const { store, creds } = this.#options;
    // Credentials of a failed pairing are useless.
    if (!creds.account || this.#closing.signal.aborted) return;
    const saved = saveCredentials(store, creds);
    saved.catch(() => undefined);
    // The network must not see the link confirmed before the keys are stored.
    if (this.#options.pairing && !this.#isPaired) this.#guard.hold(saved);
  }

  #handleUpdate(update: Partial<ConnectionState>): void {
    if (this.#closing.signal.aborted) return;
    if (update.isNewLogin) this.#paired();
    if (update.connection === 'open') this.#opened();
    if (update.connection === 'close') this.#end(this.#classifyClose(update.lastDisconnect?.error));
  }

  #showCode(code: string): void {
    const { pairing, emit } = this.#options;
    if (pairing?.method !== 'code' || pairing.phone === null) {
      emit({ kind: 'qr', code, expiresInMs: QR_MS });
      return;
    }
    if (this.#codeRequested) return;
    this.#codeRequested = true;
    void this.#requestCode(pairing.phone);
  }

  /** Baileys makes the code itself and ignores the network's answer, which may refuse it. */
  async #requestCode(phone: string): Promise<void> {
    const answered = this.#untilCodeAnswered();
    const code = await this.socket.requestPairingCode(phone).catch(() => null);
    const refusal = code === null ? 'no_code_given' : await answered;
    if (this.#closing.signal.aborted) return;
    if (refusal !== null) this.#end({ kind: 'pairing-failed', reason: refusal });
    else this.#options.emit({ kind: 'pairing-code', code: code!, expiresInMs: CODE_MS });
  }

  /** Resolves to the reason of a refusal, or to null. A device that is not linked yet asks the network nothing else. */
  #untilCodeAnswered(): Promise<string | null> {
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const cancel = this.#clock.after(SOCKET_TIMINGS.defaultQueryTimeoutMs, () => resolve('no_code_given'));
    this.closed.addEventListener('abort', () => resolve(null));
    this.socket.ws.once('CB:iq,,link_code_companion_reg', () => resolve(null));
    this.socket.ws.once('CB:iq,type:error', (stanza: BinaryNode) =>
      resolve(classifyCodeRefusal(getBinaryNodeChild(stanza, 'error')?.attrs['code'])),
    );
    return promise.finally(cancel);
  }

  #paired(): void {
    const { creds, emit } = this.#options;
    this.#isPaired = true;
    this.#codes.stop();
    this.#passkey?.close();
    const { me, platform } = creds;
    const { jid, lid } = getOwnIds(creds);
    emit({
      kind: 'paired',
      device: {
        jid,
        lid,
        business_name: me?.name ?? null,
        platform: platform ?? null,
      },
    });
  }

  /** The phone may require a passkey. Without permission to ask for it, further codes would be useless. */
  #preparePasskey(): void {
    const { pairing, creds, emit } = this.#options;
    if (pairing === null) return;
    const { ws } = this.socket;
    ws.on('CB:notification,type:passkey_prologue_request', () => {
      this.#codes.stop();
      if (!pairing.passkeys && !this.#isPaired)
        this.#end({ kind: 'pairing-failed', reason: 'passkey_required' });
    });
    if (!pairing.passkeys) return;
    const fail = (reason: string): void => this.#end({ kind: 'pairing-failed', reason });
    this.#passkey = new PasskeyCeremony({ socket: this.socket, creds, clock: this.#clock, emit, fail });
  }

  #opened(): void {
    const { creds, emit, missing, isOwn } = this.#options;
    this.#isOpen = true;
    emit({ kind: 'opened', ...getOwnIds(creds), business_name: creds.me?.name ?? null });
    // Nobody waits for this. The next connection repeats what fails.
    missing.requestThrough({ socket: this.socket, isOwn }).catch(() => undefined);
  }

  #classifyClose(error: unknown): Disconnect {
    const disconnectError = parseDisconnectError(error);
    this.#options.log.info({ code: disconnectError.code, attrs: disconnectError.attrs }, 'connection ended');
    const isPairing = this.#options.pairing !== null && !this.#isPaired;
    return isPairing
      ? classifyPairingDisconnect(disconnectError, Date.now())
      : classifyDisconnect(disconnectError, Date.now());
  }

  #watchFrames(): void {
    const { isOpen } = this.socket.ws;
    const restMs = this.#lastFrameAt + (isOpen ? UNRESPONSIVE_MS : CONNECT_MS) - this.#clock.now();
    if (restMs > 0) this.#stopWatching = this.#clock.after(restMs, () => this.#watchFrames());
    else this.fail(isOpen ? 'silent' : 'timed_out');
  }

  #end(disconnect: Disconnect): void {
    if (this.#closing.signal.aborted) return;
    const isInterrupted = disconnect.kind === 'dropped' && this.#passkey?.isUnderWay === true;
    this.close();
    // A new connection would know nothing of the passkey that the phone waits for.
    const end: Disconnect = isInterrupted
      ? { kind: 'pairing-failed', reason: 'passkey_interrupted' }
      : disconnect;
    this.#options.emit({ kind: 'closed', disconnect: end });
  }
}

function openSocket(
  options: NetworkConnectionOptions,
  pipeline: ReceivePipeline,
  findGroup: (jid: string) => GroupMetadata | undefined,
): WASocket {
  const { creds, store, journal, url, log, route, version } = options;
  const agent = route.findSocketAgent(url);
  return makeWASocket({
    ...SOCKET_TIMINGS,
    ...pipeline.socketConfig,
    ...(url !== undefined && { waWebSocketUrl: url }),
    ...(agent && { agent }),
    version: version.split('.').map(Number) as WAVersion,
    auth: { creds, keys: { get: (type, ids) => store.get(type, ids), set: (data) => store.write(data) } },
    cachedGroupMetadata: async (jid) => findGroup(jid),
    userDevicesCache: new NodeCache({
      stdTTL: DEFAULT_CACHE_TTLS.USER_DEVICES,
    }) as object as PossiblyExtendedCacheStore,
    retryRequestDelayMs: 0,
    // Baileys' cache mixes received messages with sent ones and would resend both, other people's words as ours.
    enableRecentMessageCache: false,
    logger: createBaileysLogger(log),
    browser: BROWSER,
    syncFullHistory: false,
    markOnlineOnConnect: false,
    emitOwnEvents: false,
    generateHighQualityLinkPreview: false,
    transactionOpts: { maxCommitRetries: 1, delayBetweenTriesMs: 0 },
    makeSignalRepository: createSignalRepository(store, journal),
  });
}
