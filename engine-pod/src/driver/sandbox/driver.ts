import { createHash } from 'node:crypto';
import type { OutboundEdit } from '@gwk/core/protocol/commands';
import type { ClaimedMessage, OpenPairing } from '@gwk/core/protocol/engine';
import { toNetworkId } from '@gwk/core/ids/recipients';
import type { Presence } from '@gwk/core/resources/live';
import type { Clock } from '@gwk/core/clock';
import { unrefClock } from '../../clock.js';
import {
  PasskeyNotAwaited,
  SendFailure,
  type EncodedMessage,
  type ConnectionEvent,
  type Driver,
  type DriverContext,
  type FoundContact,
  type PairedDevice,
  type Receipt,
  type ReadMessage,
  type Stanza,
} from '../driver.js';
import { deliverMedia } from './media.js';
import { buildEdit, buildForSandbox, isVoice } from './build.js';
import { LocalSandboxNetwork, RemoteSandboxNetwork, type SandboxNetwork, type Signal } from './network.js';
import { createPairingCode, createQr, toDisconnect } from './pairing.js';

type Emit = (event: ConnectionEvent) => void;

const DELIVERED_AFTER_MS = 300;
const READ_AFTER_MS = 1_000;
/** Confirms messages to groups. The phone number cannot exist. */
const GROUP_MEMBER = '5500000000001@s.whatsapp.net';
const LISTEN_MS = 60_000;

/** The last digits of a recipient select the outcome of a send (docs/interface.md). */
const NOT_ON_NETWORK = '0000';
const NEVER_READ = '0001';
const FAILING = '0002';
const ALWAYS_FAILS = 'this sandbox number always fails';

const CREDENTIALS = { type: 'creds', key: 'me' };

/**
 * Simulates an instance: pairs by itself, accepts every message, and sends receipts. Its session is one entry, the
 * paired device. If there is none, the first connection creates it. After a logout nothing connects until a pairing
 * is requested, which then proceeds as on the real network.
 */
export class SandboxDriver implements Driver {
  readonly #context: DriverContext;
  readonly #network: SandboxNetwork;
  readonly #clock: Clock;
  /** Aborted when the connection ends; undefined while there is none. */
  #connection: AbortController | undefined;
  #device: PairedDevice | undefined;
  /** Receipts created while not connected. */
  #heldReceipts: Receipt[] = [];

  constructor(context: DriverContext, networkUrl: string | undefined, clock = unrefClock) {
    this.#context = context;
    this.#clock = clock;
    this.#network = networkUrl
      ? new RemoteSandboxNetwork(networkUrl, context)
      : new LocalSandboxNetwork(clock);
  }

  connect(listen: (event: ConnectionEvent) => void, wanted: OpenPairing | null): void {
    this.#connection?.abort();
    this.#connection = new AbortController();
    const { signal } = this.#connection;
    const emit = (event: ConnectionEvent): void => {
      if (!signal.aborted) listen(event);
    };
    const running = wanted ? this.#pair(wanted, emit, signal) : this.#serve(emit, signal);
    running.catch((error: unknown) => {
      this.#context.log.warn({ err: error }, 'session or network unavailable');
      emit({ kind: 'closed', disconnect: { kind: 'dropped', reason: 'session_unavailable' } });
    });
  }

  async close(): Promise<void> {
    this.#connection?.abort();
    this.#connection = undefined;
    this.#network.close();
  }

  async logout(): Promise<boolean> {
    const device = this.#device ?? (await this.#readDevice());
    if (!device) return true;
    const unlinked = await this.#network.signal({ kind: 'unlink' }).then(
      () => true,
      () => false,
    );
    await this.#forget();
    return unlinked;
  }

  async checkContact(name: string): Promise<FoundContact | null> {
    await this.#signal({ kind: 'check', name });
    if (parseDigits(name).endsWith(NOT_ON_NETWORK)) return null;
    return { jid: toNetworkId(name), lid: name.includes('@') ? name : null };
  }

  async takePasskey(): Promise<never> {
    throw new PasskeyNotAwaited();
  }

  markRead(chat: string, messages: readonly ReadMessage[]): Promise<void> {
    return this.#signal({ kind: 'read', chat, messages });
  }

  sendPresence(chat: string, presence: Presence): Promise<void> {
    return this.#signal({ kind: 'presence', chat, presence });
  }

  /** A sandbox is in no group. */
  async listGroups(): Promise<[]> {
    if (!this.#connection) throw SendFailure.notWritten();
    return [];
  }

  async findGroup(): Promise<never> {
    if (!this.#connection) throw SendFailure.notWritten();
    throw SendFailure.refused('recipient_not_on_whatsapp');
  }

  async build(message: ClaimedMessage): Promise<EncodedMessage> {
    return buildForSandbox(message, await deliverMedia(message, this.#context));
  }

  async send(stanza: Stanza): Promise<void> {
    const number = parseDigits(stanza.chat);
    if (number.endsWith(NOT_ON_NETWORK)) throw SendFailure.refused('recipient_not_on_whatsapp');
    if (stanza.stored) await stanza.stored;
    await this.#network.write(stanza);
    if (number.endsWith(FAILING)) throw SendFailure.refused('wa_error', ALWAYS_FAILS);
    const { waMessageId, bytes, chat } = stanza;
    const by = { waMessageId, ...(chat.endsWith('@g.us') && { participant: GROUP_MEMBER }) };
    this.#scheduleReceipt({ ...by, status: 'delivered' }, DELIVERED_AFTER_MS);
    if (number.endsWith(NEVER_READ)) return;
    // A recipient who opens a voice message listens to it.
    this.#scheduleReceipt({ ...by, status: 'read', ...(isVoice(bytes) && { played: true }) }, READ_AFTER_MS);
  }

  async edit(edit: OutboundEdit, options: Pick<Stanza, 'mayWrite' | 'signal'>): Promise<void> {
    const { stanza_id, message } = edit;
    if (!this.#connection) throw SendFailure.notWritten();
    if (parseDigits(message.chat).endsWith(FAILING)) throw SendFailure.refused('wa_error', ALWAYS_FAILS);
    const bytes = buildEdit(edit);
    await this.#network.write({ waMessageId: stanza_id, chat: message.chat, bytes, ...options });
  }

  #signal(signal: Signal): Promise<void> {
    if (!this.#connection) return Promise.reject(SendFailure.notWritten());
    return this.#network.signal(signal);
  }

  /**
   * Pairs as the real network does: shows one code after the other, each for some seconds. The phone scans one and
   * the network asks for a new connection (515), or it refuses, or nobody scans any.
   */
  async #pair(wanted: OpenPairing, emit: Emit, signal: AbortSignal): Promise<void> {
    await this.#forget();
    const { codes, codeMs } = await this.#network.openPairing(wanted, signal);
    if (wanted.method === 'code')
      emit({ kind: 'pairing-code', code: createPairingCode(), expiresInMs: codes * codeMs });
    for (let i = 0; i < codes; i++) {
      emit({ kind: 'qr', code: createQr(), expiresInMs: codeMs });
      const event = await this.#network.nextEvent(codeMs, signal);
      if (signal.aborted) return;
      if (event === null) continue;
      // The device must be stored before it is reported.
      if (event.kind === 'scan') emit({ kind: 'paired', device: await this.#link() });
      return emit({ kind: 'closed', disconnect: toDisconnect(event) });
    }
    emit({ kind: 'closed', disconnect: { kind: 'pairing-failed', reason: 'codes_unread' } });
  }

  /** Logs in and serves until the network ends the connection. */
  async #serve(emit: Emit, signal: AbortSignal): Promise<void> {
    await this.#login(emit);
    while (!signal.aborted) {
      const event = await this.#network.nextEvent(LISTEN_MS, signal);
      if (event === null || event.kind === 'scan' || event.kind === 'refuse') continue;
      if (event.kind === 'unlink') await this.#forget();
      emit({ kind: 'closed', disconnect: toDisconnect(event) });
      return;
    }
  }

  async #link(): Promise<PairedDevice> {
    const device = createDevice(this.#context.instanceId);
    const value = Buffer.from(JSON.stringify(device)).toString('base64');
    await this.#context.session.write([{ ...CREDENTIALS, value }]);
    this.#device = device;
    return device;
  }

  /** A deleted instance has no session that could be written. */
  async #forget(): Promise<void> {
    this.#device = undefined;
    await this.#context.session.write([{ ...CREDENTIALS, value: null }]).catch((error: unknown) => {
      this.#context.log.info({ err: error }, 'session could not be removed');
    });
  }

  async #login(emit: Emit): Promise<void> {
    let device = this.#device ?? (await this.#readDevice());
    if (!device) {
      device = await this.#link();
      emit({ kind: 'paired', device });
    }
    this.#device = device;
    emit({ kind: 'opened', jid: device.jid, lid: null, business_name: device.business_name });
    if (!this.#connection) return;
    for (const receipt of this.#heldReceipts.splice(0))
      void this.#context.storeReceipt(receipt).catch(() => undefined);
  }

  async #readDevice(): Promise<PairedDevice | undefined> {
    const [entry] = await this.#context.session.read(CREDENTIALS.type, [CREDENTIALS.key]);
    if (!entry?.value) return undefined;
    return JSON.parse(Buffer.from(entry.value, 'base64').toString('utf8')) as PairedDevice;
  }

  /** Without a connection, the receipt comes with the next one, as on the real network. */
  #scheduleReceipt(content: Omit<Receipt, 'at'>, afterMs: number): void {
    this.#clock.after(afterMs, () => {
      const receipt = { ...content, at: new Date() };
      if (!this.#connection) this.#heldReceipts.push(receipt);
      else void this.#context.storeReceipt(receipt).catch(() => undefined);
    });
  }
}

const parseDigits = (chat: string): string => chat.split('@', 1)[0]!;

/** A phone number that cannot exist: country code 55 with the unassigned area code 00. */
function createDevice(instanceId: string): PairedDevice {
  const digest = createHash('sha256').update(instanceId).digest();
  const digits = String(digest.readUIntBE(0, 6) % 1_000_000_000).padStart(9, '0');
  return { jid: `5500${digits}@s.whatsapp.net`, business_name: null, platform: 'sandbox' };
}
