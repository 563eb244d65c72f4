import { createHash } from 'node:crypto';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import {
  SendFailure,
  type Built,
  type ConnectionEvent,
  type Driver,
  type DriverContext,
  type PairedDevice,
  type Receipt,
  type Stanza,
} from './driver.js';
import { buildForSandbox } from './sandbox-build.js';
import { LonelyNetwork, RemoteNetwork, type SandboxNetwork } from './sandbox-network.js';

const DELIVERED_AFTER_MS = 300;
const READ_AFTER_MS = 1_000;

/** Numbers by whose last digits a consumer chooses what happens (design: sandbox). */
const NOT_ON_NETWORK = '0000';
const NEVER_READ = '0001';
const FAILING = '0002';

const CREDENTIALS = { type: 'creds', key: 'me' };

/**
 * The simulated number: pairs by itself, accepts what it is given, and makes the receipts of the other side. Its
 * session is one entry, the paired device; without it a connection begins with a pairing.
 */
export class SandboxDriver implements Driver {
  readonly #context: DriverContext;
  readonly #network: SandboxNetwork;
  #device: PairedDevice | undefined;
  /** Number of the connection; 0 while there is none. */
  #connection = 0;
  #connections = 0;
  /** Made while there was no connection. */
  #heldReceipts: Receipt[] = [];

  constructor(context: DriverContext, networkUrl: string | undefined) {
    this.#context = context;
    const { instanceId, pod, epoch } = context;
    this.#network = networkUrl
      ? new RemoteNetwork(networkUrl, { instance_id: instanceId, pod, epoch })
      : new LonelyNetwork();
  }

  connect(listen: (event: ConnectionEvent) => void): void {
    const connection = ++this.#connections;
    this.#connection = connection;
    const tell = (event: ConnectionEvent): void => {
      if (this.#connection === connection) listen(event);
    };
    this.#login(tell).catch((error: unknown) => {
      this.#context.log.warn({ err: error }, 'the session could not be read or written');
      tell({ kind: 'closed', how: { kind: 'dropped', reason: 'session_unavailable' } });
    });
  }

  async close(): Promise<void> {
    this.#connection = 0;
    this.#network.close();
  }

  async logout(): Promise<void> {
    await this.#context.session.write([{ ...CREDENTIALS, value: null }]);
    this.#device = undefined;
  }

  async build(message: ClaimedMessage): Promise<Built> {
    return buildForSandbox(message);
  }

  async send(stanza: Stanza): Promise<void> {
    const number = stanza.chat.split('@', 1)[0]!;
    if (number.endsWith(NOT_ON_NETWORK)) throw SendFailure.refused('recipient_not_on_whatsapp');
    await this.#network.write(stanza);
    if (number.endsWith(FAILING)) throw SendFailure.refused('wa_error', 'this sandbox number always fails');
    this.#receiptLater(stanza.waMessageId, 'delivered', DELIVERED_AFTER_MS);
    if (!number.endsWith(NEVER_READ)) this.#receiptLater(stanza.waMessageId, 'read', READ_AFTER_MS);
  }

  async #login(tell: (event: ConnectionEvent) => void): Promise<void> {
    const known = this.#device ?? (await this.#readDevice());
    const device = known ?? deviceOf(this.#context.instanceId);
    if (!known) {
      const value = Buffer.from(JSON.stringify(device)).toString('base64');
      await this.#context.session.write([{ ...CREDENTIALS, value }]);
      tell({ kind: 'paired', device });
    }
    this.#device = device;
    tell({ kind: 'opened', jid: device.jid, business_name: device.business_name });
    if (this.#connection === 0) return;
    for (const receipt of this.#heldReceipts.splice(0))
      void this.#context.receipt(receipt).catch(() => undefined);
  }

  async #readDevice(): Promise<PairedDevice | undefined> {
    const [entry] = await this.#context.session.read(CREDENTIALS.type, [CREDENTIALS.key]);
    if (!entry?.value) return undefined;
    return JSON.parse(Buffer.from(entry.value, 'base64').toString('utf8')) as PairedDevice;
  }

  /** As on the network, a receipt that finds no connection comes with the next one. */
  #receiptLater(waMessageId: string, status: Receipt['status'], afterMs: number): void {
    setTimeout(() => {
      const receipt = { waMessageId, status, at: new Date() };
      if (this.#connection === 0) this.#heldReceipts.push(receipt);
      else void this.#context.receipt(receipt).catch(() => undefined);
    }, afterMs).unref();
  }
}

/** A number that cannot be anybody's: 55 and the area code 00, which does not exist. */
function deviceOf(instanceId: string): PairedDevice {
  const digest = createHash('sha256').update(instanceId).digest();
  const digits = String(digest.readUIntBE(0, 6) % 1_000_000_000).padStart(9, '0');
  return { jid: `5500${digits}@s.whatsapp.net`, business_name: null, platform: 'sandbox' };
}
