import {
  Browsers,
  jidNormalizedUser,
  makeWASocket,
  type AuthenticationCreds,
  type BinaryNode,
  type ConnectionState,
  type GroupMetadata,
  type WASocket,
} from '@whiskeysockets/baileys';
import type { Logger } from '@gwk/core/log';
import type { OpenPairing } from '@gwk/core/protocol/engine';
import { processClock, type Clock } from '@gwk/core/clock';
import type { Closed, ConnectionEvent } from '../../driver.js';
import type { RequestOptions } from '../receive/screen/retry-requests.js';
import { saveCredentials } from '../session/credentials.js';
import { confirmKeys, keysWhileSending } from '../session/distributed-keys.js';
import type { SessionStore } from '../session/store.js';
import type { Journal } from '../receive/journal.js';
import { ReceivePipeline } from '../receive/pipeline.js';
import { makeRepository, type RepositoryOptions } from '../session/signal-repository.js';
import { libraryLogger } from './baileys-logger.js';
import { closedBy, closedWhilePairing, endingOf } from './disconnects.js';
import { MediaHosts } from './media-hosts.js';
import { freeLanes } from '../patches/conversation-transactions.js';
import { passOverBroken, passOverUnasked } from '../patches/ignored-stanzas.js';
import { recordEncryption } from '../patches/write-context.js';
import { WriteGuard } from '../patches/write-guard.js';

export interface LinkOptions {
  creds: AuthenticationCreds;
  store: SessionStore;
  journal: Journal;
  journalled: RepositoryOptions['journalled'];
  /** Null: log in. */
  pairing: OpenPairing | null;
  /** Address of the network; its own where undefined. */
  url: string | undefined;
  log: Logger;
  leased: () => boolean;
  tell: (event: ConnectionEvent) => void;
  /** Notes of a stanza that its content is missing; null where it is not. */
  missing: (stanza: BinaryNode) => Promise<void> | null;
  /** Notes that it cannot be read; null where nothing is to be noted. */
  unreadable: (stanza: BinaryNode) => Promise<void> | null;
  own: (jid: string) => boolean;
  /** What was sent under this id to this chat lately, for a device that could not read it. */
  sentMessage: RequestOptions['sent'];
  times?: LinkTimes;
}

/** In place of the usual. */
export interface LinkTimes {
  clock?: Clock;
  /** For the opening of the socket. Default 20 s. */
  connectTimeoutMs?: number;
}

const QR_MS = 20_000;
/** Codes to be typed are good for as long as the six references that the network gives. */
const CODE_MS = 6 * QR_MS;
const TIMES = {
  connectTimeoutMs: 20_000,
  defaultQueryTimeoutMs: 10_000,
  keepAliveIntervalMs: 20_000,
  qrTimeout: QR_MS,
};
/** Without a frame for so long, pings answered included, the line is dead, whatever it says of itself. */
const SILENCE_MS = 30_000;

/** One connection to the network, from the opening of its socket to its end, which it tells once. */
export class Link {
  readonly socket: WASocket;
  readonly media: MediaHosts;
  /** As the network told of them before what is being sent there: so that nothing is asked under Baileys' lock. */
  readonly groups = new Map<string, GroupMetadata>();
  readonly #options: LinkOptions;
  readonly #guard: WriteGuard;
  readonly #closing = new AbortController();
  readonly #clock: Clock;
  #heardAt: number;
  #unwatch: () => void = () => undefined;
  #isOpen = false;
  #isPaired = false;
  #codeAsked = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#clock = options.times?.clock ?? processClock;
    this.#heardAt = this.#clock.now();
    const pipeline = new ReceivePipeline({
      journal: options.journal,
      log: options.log,
      isOwn: options.own,
      sentMessage: options.sentMessage,
      missing: options.missing,
      undecryptable: options.unreadable,
      holdFrames: (until) => this.#guard.hold(until),
    });
    this.socket = openSocket(options, pipeline, this.groups);
    passOverBroken(this.socket, options.log);
    passOverUnasked(this.socket);
    this.#guard = new WriteGuard(this.socket, options.leased);
    this.media = new MediaHosts(this.socket, options.log);
    freeLanes(this.socket, options.store);
    pipeline.attach(this.socket);
    this.socket.ws.on('frame', () => (this.#heardAt = this.#clock.now()));
    this.socket.ws.on('CB:notification,type:passkey_prologue_request', () => this.#passkeyAsked());
    this.socket.ev.on('creds.update', () => this.#saveCredentials());
    this.socket.ev.on('connection.update', (update) => this.#changed(update));
    this.#watchLine();
  }

  get open(): boolean {
    return this.#isOpen && !this.#closing.signal.aborted;
  }

  /** Aborted once the connection is over. */
  get over(): AbortSignal {
    return this.#closing.signal;
  }

  /** The network has the message with which they were given. */
  confirmKeys(given: Record<string, unknown>): Promise<void> {
    return confirmKeys(this.#options.store, given);
  }

  /** Nothing is written from here on, and nothing more is told. */
  close(): void {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.#unwatch();
    this.#guard.sever();
    // Its timers and listeners; the socket is gone.
    void this.socket.end(undefined).catch(() => undefined);
  }

  /** Ends it from this side, and tells so. */
  fail(reason: string): void {
    this.#end({ kind: 'dropped', reason });
  }

  #saveCredentials(): void {
    const { store, creds } = this.#options;
    // Those of a pairing that came to nothing are of no use to anybody.
    if (!creds.account || this.#closing.signal.aborted) return;
    const saved = saveCredentials(store, creds);
    saved.catch(() => undefined);
    // The phone is not told that the device is linked before its keys are stored.
    if (this.#options.pairing && !this.#isPaired) this.#guard.hold(saved);
  }

  #changed(update: Partial<ConnectionState>): void {
    if (this.#closing.signal.aborted) return;
    if (update.qr !== undefined) this.#show(update.qr);
    if (update.isNewLogin) this.#paired();
    if (update.connection === 'open') this.#opened();
    if (update.connection === 'close') this.#end(this.#howClosed(update.lastDisconnect?.error));
  }

  #show(code: string): void {
    const { pairing, tell } = this.#options;
    if (pairing?.method !== 'code' || pairing.phone === null) {
      tell({ kind: 'qr', code, expiresInMs: QR_MS });
      return;
    }
    if (this.#codeAsked) return;
    this.#codeAsked = true;
    this.socket.requestPairingCode(pairing.phone).then(
      (typed) => {
        if (!this.#closing.signal.aborted) tell({ kind: 'pairing-code', code: typed, expiresInMs: CODE_MS });
      },
      () => this.#end({ kind: 'pairing-failed', reason: 'no_code_given' }),
    );
  }

  #paired(): void {
    const { creds, tell } = this.#options;
    this.#isPaired = true;
    const { me, platform } = creds;
    tell({
      kind: 'paired',
      device: {
        jid: jidNormalizedUser(me?.id),
        business_name: me?.name ?? null,
        platform: platform ?? null,
      },
    });
  }

  /** The phone links no device that cannot show a passkey, and this one cannot: further codes would be read in vain. */
  #passkeyAsked(): void {
    if (this.#options.pairing === null || this.#isPaired) return;
    this.#end({ kind: 'pairing-failed', reason: 'passkey_required' });
  }

  #opened(): void {
    const { creds, tell } = this.#options;
    this.#isOpen = true;
    tell({ kind: 'opened', jid: jidNormalizedUser(creds.me?.id), business_name: creds.me?.name ?? null });
  }

  #howClosed(error: unknown): Closed {
    const ending = endingOf(error);
    this.#options.log.info({ code: ending.code, attrs: ending.attrs }, 'the connection has ended');
    const isPairing = this.#options.pairing !== null && !this.#isPaired;
    return isPairing ? closedWhilePairing(ending, Date.now()) : closedBy(ending, Date.now());
  }

  #watchLine(): void {
    const restMs = this.#heardAt + SILENCE_MS - this.#clock.now();
    if (restMs > 0) this.#unwatch = this.#clock.after(restMs, () => this.#watchLine());
    else this.#end({ kind: 'dropped', reason: 'silent' });
  }

  #end(how: Closed): void {
    if (this.#closing.signal.aborted) return;
    this.close();
    this.#options.tell({ kind: 'closed', how });
  }
}

function openSocket(
  options: LinkOptions,
  pipeline: ReceivePipeline,
  groups: Map<string, GroupMetadata>,
): WASocket {
  const { creds, store, journal, journalled, url, log, times } = options;
  const { origins } = pipeline;
  return makeWASocket({
    ...TIMES,
    ...pipeline.socketConfig,
    ...(times?.connectTimeoutMs !== undefined && { connectTimeoutMs: times.connectTimeoutMs }),
    ...(url !== undefined && { waWebSocketUrl: url }),
    auth: { creds, keys: keysWhileSending(store) },
    cachedGroupMetadata: async (jid) => groups.get(jid),
    retryRequestDelayMs: 0,
    // It keeps what came beside what was sent, and sends both again to whoever asks: words of others as this number's.
    enableRecentMessageCache: false,
    logger: libraryLogger(log),
    browser: Browsers.ubuntu('Chrome'),
    syncFullHistory: false,
    markOnlineOnConnect: false,
    emitOwnEvents: false,
    generateHighQualityLinkPreview: false,
    transactionOpts: { maxCommitRetries: 1, delayBetweenTriesMs: 0 },
    makeSignalRepository: makeRepository({
      store,
      origins,
      journal,
      journalled,
      encrypted: recordEncryption,
    }),
  });
}
