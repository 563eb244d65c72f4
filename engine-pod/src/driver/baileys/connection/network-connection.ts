import {
  Browsers,
  jidNormalizedUser,
  makeWASocket,
  type AuthenticationCreds,
  type ConnectionState,
  type GroupMetadata,
  type WASocket,
} from '@whiskeysockets/baileys';
import type { OpenPairing } from '@gwk/core/protocol/engine';
import { processClock, type Clock } from '@gwk/core/clock';
import type { Disconnect, ConnectionEvent } from '../../driver.js';
import { saveCredentials } from '../session/credentials.js';
import type { SessionStore } from '../session/store.js';
import { ReceivePipeline, type ReceivePipelineOptions } from '../receive/pipeline.js';
import { createSignalRepository } from '../session/signal-repository.js';
import { createBaileysLogger } from './baileys-logger.js';
import { classifyDisconnect, classifyPairingDisconnect, parseDisconnectError } from './disconnects.js';
import { MediaHosts } from '../patches/media-hosts.js';
import { useConversationTransactions } from '../patches/conversation-transactions.js';
import { ignoreBrokenFrames, ignoreUnsolicitedStanzas } from '../patches/ignored-stanzas.js';
import { WriteGuard } from '../patches/write-guard.js';

interface NetworkConnectionOptions extends Omit<ReceivePipelineOptions, 'holdFrames'> {
  creds: AuthenticationCreds;
  store: SessionStore;
  /** Null: log in with the stored credentials. */
  pairing: OpenPairing | null;
  /** Address of the network; undefined: the real network. */
  url: string | undefined;
  isLeased: () => boolean;
  emit: (event: ConnectionEvent) => void;
  timings?: ConnectionTimings;
}

/** Overrides for tests. */
export interface ConnectionTimings {
  clock?: Clock;
  /** Timeout for opening the socket, 20 s (default). */
  connectTimeoutMs?: number;
}

const QR_MS = 20_000;
/** A pairing code is valid as long as the six references that the network gives. */
const CODE_MS = 6 * QR_MS;
const SOCKET_TIMINGS = {
  connectTimeoutMs: 20_000,
  defaultQueryTimeoutMs: 10_000,
  keepAliveIntervalMs: 20_000,
  qrTimeout: QR_MS,
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
  readonly media: MediaHosts;
  /** Group metadata, loaded before a message is sent, so that Baileys does not query it while it holds its lock. */
  readonly groups = new Map<string, GroupMetadata>();
  readonly #options: NetworkConnectionOptions;
  readonly #guard: WriteGuard;
  readonly #closing = new AbortController();
  readonly #clock: Clock;
  #lastFrameAt: number;
  #stopWatching: () => void = () => undefined;
  #isOpen = false;
  #isPaired = false;
  #codeRequested = false;

  constructor(options: NetworkConnectionOptions) {
    this.#options = options;
    this.#clock = options.timings?.clock ?? processClock;
    this.#lastFrameAt = this.#clock.now();
    const holdFrames = (until: Promise<void>): void => this.#guard.hold(until);
    const pipeline = new ReceivePipeline({ ...options, holdFrames });
    this.socket = openSocket(options, pipeline, this.groups);
    ignoreBrokenFrames(this.socket, options.log);
    ignoreUnsolicitedStanzas(this.socket);
    this.#guard = new WriteGuard(this.socket, options.isLeased);
    this.media = new MediaHosts(this.socket, options.log);
    useConversationTransactions(this.socket, options.store);
    pipeline.attach(this.socket);
    this.socket.ws.on('frame', () => (this.#lastFrameAt = this.#clock.now()));
    this.socket.ws.on('CB:notification,type:passkey_prologue_request', () => this.#failForPasskey());
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
    this.#guard.sever();
    // Ends Baileys' timers and listeners; the socket is already closed.
    void this.socket.end(undefined).catch(() => undefined);
  }

  /** Ends the connection from this side and reports it. */
  fail(reason: string): void {
    this.#end({ kind: 'dropped', reason });
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
    if (update.qr !== undefined) this.#showCode(update.qr);
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
    this.socket.requestPairingCode(pairing.phone).then(
      (typed) => {
        if (!this.#closing.signal.aborted) emit({ kind: 'pairing-code', code: typed, expiresInMs: CODE_MS });
      },
      () => this.#end({ kind: 'pairing-failed', reason: 'no_code_given' }),
    );
  }

  #paired(): void {
    const { creds, emit } = this.#options;
    this.#isPaired = true;
    const { me, platform } = creds;
    emit({
      kind: 'paired',
      device: {
        jid: jidNormalizedUser(me?.id),
        business_name: me?.name ?? null,
        platform: platform ?? null,
      },
    });
  }

  /** The phone requires a passkey, which this device cannot show. Further codes would be useless. */
  #failForPasskey(): void {
    if (this.#options.pairing === null || this.#isPaired) return;
    this.#end({ kind: 'pairing-failed', reason: 'passkey_required' });
  }

  #opened(): void {
    const { creds, emit, missing, isOwn } = this.#options;
    this.#isOpen = true;
    emit({ kind: 'opened', jid: jidNormalizedUser(creds.me?.id), business_name: creds.me?.name ?? null });
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
    const restMs = this.#lastFrameAt + UNRESPONSIVE_MS - this.#clock.now();
    if (restMs > 0) this.#stopWatching = this.#clock.after(restMs, () => this.#watchFrames());
    else this.#end({ kind: 'dropped', reason: 'silent' });
  }

  #end(disconnect: Disconnect): void {
    if (this.#closing.signal.aborted) return;
    this.close();
    this.#options.emit({ kind: 'closed', disconnect });
  }
}

function openSocket(
  options: NetworkConnectionOptions,
  pipeline: ReceivePipeline,
  groups: Map<string, GroupMetadata>,
): WASocket {
  const { creds, store, journal, url, log, timings } = options;
  return makeWASocket({
    ...SOCKET_TIMINGS,
    ...pipeline.socketConfig,
    ...(timings?.connectTimeoutMs !== undefined && { connectTimeoutMs: timings.connectTimeoutMs }),
    ...(url !== undefined && { waWebSocketUrl: url }),
    auth: { creds, keys: { get: (type, ids) => store.get(type, ids), set: (data) => store.write(data) } },
    cachedGroupMetadata: async (jid) => groups.get(jid),
    retryRequestDelayMs: 0,
    // Baileys' cache mixes received messages with sent ones and would resend both, other people's words as ours.
    enableRecentMessageCache: false,
    logger: createBaileysLogger(log),
    browser: Browsers.ubuntu('Chrome'),
    syncFullHistory: false,
    markOnlineOnConnect: false,
    emitOwnEvents: false,
    generateHighQualityLinkPreview: false,
    transactionOpts: { maxCommitRetries: 1, delayBetweenTriesMs: 0 },
    makeSignalRepository: createSignalRepository(store, journal),
  });
}
