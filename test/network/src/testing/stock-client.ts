import '../signal/silence-libsignal.js';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import {
  Browsers,
  Curve,
  DisconnectReason,
  downloadMediaMessage,
  initAuthCreds,
  makeWASocket,
  WA_CERT_DETAILS,
  type AuthenticationCreds,
  type AuthenticationState,
  type ConnectionState,
  type SignalDataSet,
  type SignalDataTypeMap,
  type UserFacingSocketConfig,
  type WAMessage,
  type WAMessageUpdate,
  type WASocket,
} from '@whiskeysockets/baileys';
import { MEDIA_CERTIFICATE } from '../media/certificate.js';
import { verified } from '../signal/keys.js';
import type { Person } from '../control/client.js';
import type { RunningNetwork } from '../start.js';

/**
 * Makes Baileys verify the signatures that it ignores by default, so that forged certificates and identities are
 * detected. Also makes Baileys trust this network's root, and this process trust the media hosts.
 */
export function trust(root: Uint8Array): void {
  WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(root);
  Curve.verify = verified;
  setDefaultCACertificates([...getCACertificates(), MEDIA_CERTIFICATE.cert]);
}

/**
 * Baileys leaves timers behind, such as one of 30 s after each upload of pre-keys. They must not keep the test process
 * alive, and no test waits for one.
 */
const LONG_MS = 5000;
const { setTimeout: plainSetTimeout } = globalThis;
globalThis.setTimeout = Object.assign(
  (work: () => void, ms?: number, ...rest: []) => {
    const timer = plainSetTimeout(work, ms, ...rest);
    return ms !== undefined && ms >= LONG_MS ? timer.unref() : timer;
  },
  { __promisify__: plainSetTimeout.__promisify__ },
);

const SILENT = {
  level: 'silent',
  child: () => SILENT,
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** In-memory keys and credentials in the form that Baileys expects. */
export function memoryAuth(): AuthenticationState & { rows: Map<string, unknown> } {
  const rows = new Map<string, unknown>();
  const creds: AuthenticationCreds = initAuthCreds();
  return {
    creds,
    rows,
    keys: {
      get: async <T extends keyof SignalDataTypeMap>(type: T, ids: string[]) => {
        const found = ids.map((id) => [id, rows.get(`${type} ${id}`)] as const);
        return Object.fromEntries(found.filter(([, value]) => value !== undefined)) as Record<
          string,
          SignalDataTypeMap[T]
        >;
      },
      set: async (data: SignalDataSet) => {
        for (const [type, values] of Object.entries(data)) {
          for (const [id, value] of Object.entries(values as Record<string, unknown>)) {
            if (value === null || value === undefined) rows.delete(`${type} ${id}`);
            else rows.set(`${type} ${id}`, value);
          }
        }
      },
    },
  };
}

export interface Closed {
  code?: number;
  data?: unknown;
}

/** A client on stock Baileys that records all its events. */
export class StockClient {
  socket!: WASocket;
  readonly updates: Partial<ConnectionState>[] = [];
  readonly messages: (WAMessage & { upsert: string })[] = [];
  readonly changes: WAMessageUpdate[] = [];
  readonly acks: Record<string, string>[] = [];
  readonly closes: Closed[] = [];
  readonly #onOpen: ((socket: WASocket) => void)[] = [];
  /** Sent messages, for retry requests. */
  readonly sent = new Map<string, NonNullable<WAMessage['message']>>();

  constructor(
    private readonly network: Pick<RunningNetwork, 'url' | 'root'>,
    readonly auth = memoryAuth(),
    private readonly settings: Partial<UserFacingSocketConfig> = {},
  ) {
    trust(network.root);
  }

  /** Runs `work` on each new socket before anything arrives. */
  onOpen(work: (socket: WASocket) => void): void {
    this.#onOpen.push(work);
  }

  /** Opens a socket. It reopens only after the restart that follows a pairing. */
  open(): this {
    const socket = makeWASocket({
      auth: this.auth,
      logger: SILENT,
      waWebSocketUrl: this.network.url,
      browser: Browsers.ubuntu('Chrome'),
      syncFullHistory: false,
      markOnlineOnConnect: false,
      emitOwnEvents: false,
      connectTimeoutMs: 10_000,
      defaultQueryTimeoutMs: 10_000,
      qrTimeout: 20_000,
      shouldSyncHistoryMessage: () => false,
      getMessage: async ({ id }) => this.sent.get(id ?? ''),
      ...this.settings,
    });
    this.socket = socket;
    for (const work of this.#onOpen) work(socket);
    socket.ev.on('creds.update', (update) => void Object.assign(this.auth.creds, update));
    socket.ev.on('messages.upsert', ({ messages, type }) => {
      this.messages.push(...messages.map((message) => ({ ...message, upsert: type })));
    });
    socket.ev.on('messages.update', (updates) => void this.changes.push(...updates));
    socket.ws.on(
      'CB:ack,class:message',
      (node: { attrs: Record<string, string> }) => void this.acks.push(node.attrs),
    );
    socket.ev.on('connection.update', (update) => this.#changed(update));
    return this;
  }

  #changed(update: Partial<ConnectionState>): void {
    this.updates.push(update);
    if (update.connection !== 'close') return;
    const error = update.lastDisconnect?.error as
      { output?: { statusCode?: number }; data?: unknown } | undefined;
    const code = error?.output?.statusCode;
    if (code === DisconnectReason.restartRequired && this.updates.some(({ isNewLogin }) => isNewLogin)) {
      this.updates.length = 0;
      this.open();
      return;
    }
    this.closes.push({ ...(code !== undefined && { code }), data: error?.data });
  }

  get state(): string | undefined {
    return this.updates.findLast(({ connection }) => connection !== undefined)?.connection;
  }

  qr(): Promise<string> {
    return until(() => this.updates.findLast(({ qr }) => qr)?.qr ?? undefined, 'a QR code');
  }

  async connected(): Promise<this> {
    await until(() => (this.state === 'open' ? true : undefined), 'an open connection');
    await until(
      () => this.updates.find(({ receivedPendingNotifications }) => receivedPendingNotifications),
      'the end of what waited',
    );
    return this;
  }

  /** @returns the code of the next close */
  async closed(): Promise<Closed> {
    const at = this.closes.length;
    return until(
      () => this.closes[at] ?? (this.state === 'close' ? this.closes.at(-1) : undefined),
      'a close',
    );
  }

  async pair(phone: Person): Promise<this> {
    this.open();
    await phone.scans(await this.qr());
    return this.connected();
  }

  text(message: WAMessage): string | undefined {
    return message.message?.conversation ?? message.message?.extendedTextMessage?.text ?? undefined;
  }

  got(text: string) {
    return until(() => this.messages.find((message) => this.text(message) === text), `"${text}"`);
  }

  gotId(id: string) {
    return until(() => this.messages.find(({ key, message }) => key.id === id && message), `message ${id}`);
  }

  async send(...args: Parameters<WASocket['sendMessage']>) {
    const sent = await this.socket.sendMessage(...args);
    if (!sent?.key.id || !sent.message) throw new Error('nothing was sent');
    this.sent.set(sent.key.id, sent.message);
    return { id: sent.key.id, key: sent.key, message: sent.message };
  }

  download(message: WAMessage): Promise<Buffer> {
    return downloadMediaMessage(message, 'buffer', {});
  }

  acked(id: string) {
    return until(() => this.acks.find((ack) => ack.id === id), `the ack of ${id}`);
  }

  async stop(): Promise<void> {
    await this.socket.end(undefined);
  }
}

/** Longer than any machine needs. Only a condition that never holds reaches it. */
const LIMIT_MS = 120_000;

export async function until<T>(look: () => T | undefined, what: string): Promise<T> {
  const end = Date.now() + LIMIT_MS;
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`timed out waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
