import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type {
  ClaimedMessage,
  EngineRequest,
  ReceivedFileHints,
  SessionEntry,
} from '@gwk/core/protocol/engine';
import type { Notice } from '@gwk/core/protocol/notices';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import type { ProxyAgents } from '@gwk/core/proxy/agents';
import type { LinkedNames } from '@gwk/core/ids/recipients';
import { BUNDLED } from '@gwk/core/client-version';
import { createLogger } from '@gwk/core/process/log';
import type { OutboundContent } from '@gwk/core/resources/message';
import { startNetwork, type RunningNetwork } from '@gwk/network/start';
import { MEDIA_CERTIFICATE } from '@gwk/network/media/certificate';
import { BaileysDriver } from '@gwk/engine-pod/driver/baileys/driver';
import type { ConnectionEvent, Driver, DriverContext, Receipt, Stanza } from '@gwk/engine-pod/driver/driver';
import { until as untilIs } from '../wait.js';
import { ManualClock } from '../clock.js';

/** For calls that never give up. */
export const NEVER_ABORTED: Stanza['signal'] = new AbortController().signal;
/** Shorter than the time after which a connection counts as dead. */
const LIMIT_MS = 5_000;

/** Limits of the internal API. */
const MAX_KEY = 500;
const MAX_ENTRIES = 5_000;

/** The data that the API stores for one instance. It outlives drivers, as the database outlives engines. */
export class Rows {
  readonly session = new Map<string, SessionEntry>();
  readonly inbound: InboundMessage[] = [];
  readonly ignored: string[] = [];
  readonly notices: Notice[] = [];
  /** Whether the policy rejects calls; undefined: of an API that takes no notices. */
  rejectsCalls: boolean | undefined = false;
  readonly receipts: Receipt[] = [];
  /** Finished files by message. */
  readonly files = new Map<string, () => Readable>();
  readonly kept: { bytes: Buffer; named: ReceivedFileHints }[] = [];
  readonly restrictions: (Date | null)[] = [];
  readonly names: LinkedNames[] = [];
  readonly usernames: EngineRequest<'usernames'>['people'] = [];
  /** Built bytes of sent messages. */
  readonly built = new Map<string, Buffer>();
  /** Stored secrets of polls, and the polls that were asked for. */
  readonly pollSecrets = new Map<string, Buffer>();
  readonly pollsRead: string[] = [];
  writes = 0;
  /** Client versions that the API names, in turn. Then, and by default, the bundled one. */
  readonly clientVersions: (string | null)[] = [];
  /** How the network took them. */
  readonly versionResults: string[] = [];
  /** Called when the network has refused a client version. It may wait. */
  onVersionRefused: () => Promise<void> | void = () => undefined;
  /** False: the lease has expired by the clock, and nobody has noticed yet. */
  leased = true;
  /** Called before each of these is stored. It may wait or throw. */
  before: (
    what: 'session' | 'inbound' | 'receipt' | 'file' | 'notice' | 'usernames',
  ) => Promise<void> | void = () => undefined;
  /** Called before session entries of a type are read. It may wait or throw. */
  beforeRead: (type: string) => Promise<void> | void = () => undefined;

  /** Holds back session writes until they are released. */
  holdWrites(): { asked: () => number; release: () => void } {
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    let asked = 0;
    this.before = (what) => {
      if (what !== 'session') return undefined;
      asked += 1;
      return held;
    };
    return { asked: () => asked, release };
  }

  async write(entries: SessionEntry[]): Promise<void> {
    await this.before('session');
    this.writes += 1;
    // As the internal API refuses them.
    if (entries.length > MAX_ENTRIES || entries.some(({ key }) => key.length > MAX_KEY))
      throw new InternalApiRefusal('invalid', null);
    for (const entry of entries) {
      const name = `${entry.type} ${entry.key}`;
      if (entry.value === null) this.session.delete(name);
      else this.session.set(name, entry);
    }
  }

  async #storeFile(...[file, named]: Parameters<DriverContext['storeFile']>) {
    await this.before('file');
    const chunks: Buffer[] = [];
    for await (const chunk of file as AsyncIterable<Buffer>) chunks.push(chunk);
    this.kept.push({ bytes: Buffer.concat(chunks), named });
    return { media_id: randomUUID(), mimetype: named.mimetype ?? '', size: 0, sha256: '' };
  }

  #chooser(): DriverContext['clientVersions'] {
    return {
      isExpected: false,
      choose: async () => {
        const [next = BUNDLED.version] = this.clientVersions.splice(0, 1);
        return next;
      },
      replaceRefused: async (version) => {
        this.versionResults.push(`${version} refused`);
        await this.onVersionRefused();
        return this.clientVersions.shift() ?? null;
      },
      confirm: (version) => void this.versionResults.push(`${version} accepted`),
    };
  }

  of(type: string): SessionEntry[] {
    return [...this.session.values()].filter((entry) => entry.type === type);
  }

  context(): DriverContext {
    return {
      instanceId: randomUUID(),
      pod: 'pod-1',
      epoch: 1,
      log: createLogger('engine', process.env['VERBOSE'] === 'on' ? 'debug' : 'silent'),
      session: {
        read: async (type, keys) => {
          await this.beforeRead(type);
          return this.of(type).filter(({ key }) => keys === null || keys.includes(key));
        },
        write: (entries) => this.write(entries),
      },
      readFile: async (messageId, read) => {
        const file = this.files.get(messageId);
        if (!file) throw new InternalApiRefusal('invalid', null);
        return read(file());
      },
      isLeased: () => this.leased,
      clientVersions: this.#chooser(),
      readSentMessage: async (waMessageId) => this.built.get(waMessageId) ?? null,
      readPoll: async (waMessageId) => {
        this.pollsRead.push(waMessageId);
        return {
          secret: this.pollSecrets.get(waMessageId) ?? null,
          built: this.built.get(waMessageId) ?? null,
        };
      },
      storeNames: async (names) => void this.names.push(names),
      storeUsernames: async (people) => {
        await this.before('usernames');
        this.usernames.push(...people);
      },
      storeRestriction: async (until) => void this.restrictions.push(until),
      storeFile: (file, named) => this.#storeFile(file, named),
      storeReceipt: async (receipt) => {
        await this.before('receipt');
        this.receipts.push(receipt);
      },
      storeInbound: async (message) => {
        await this.before('inbound');
        const known = this.inbound.some(
          ({ chat, from, wa_message_id }) =>
            chat === message.chat && from === message.from && wa_message_id === message.wa_message_id,
        );
        if (!known) this.inbound.push(message);
      },
      rejectsCalls: () => this.rejectsCalls,
      storeNotice: async (notice) => {
        await this.before('notice');
        this.notices.push(notice);
      },
      countIgnored: (reason) => void this.ignored.push(reason),
    };
  }
}

/** An instance on the simulated network: its stored data, and one driver after the other. */
export class SimulatedInstance {
  readonly rows = new Rows();
  readonly events: ConnectionEvent[] = [];
  /** Clock of the drivers. Waiting in `receives` advances it. */
  readonly clock = new ManualClock();
  driver: Driver;

  constructor(readonly network: Pick<RunningNetwork, 'url' | 'root'> & { agents?: ProxyAgents | null }) {
    this.driver = this.#newDriver();
  }

  #newDriver(): Driver {
    const network = {
      url: this.network.url,
      root: this.network.root.toString('hex'),
      ca: MEDIA_CERTIFICATE.cert,
      agents: this.network.agents ?? null,
    };
    return new BaileysDriver(this.rows.context(), network, this.clock);
  }

  connect(pairing: Parameters<Driver['connect']>[1] = null): void {
    this.driver.connect((event) => this.#heard(event), pairing);
  }

  /** Reconnects at once when asked to, as the engine's connection does. */
  #heard(event: ConnectionEvent): void {
    this.events.push(event);
    if (
      event.kind === 'closed' &&
      event.disconnect.kind === 'dropped' &&
      event.disconnect.reconnect === 'at-once'
    )
      this.connect();
  }

  /** Replaces the engine. The new one has only the stored data. */
  async replace(): Promise<void> {
    await this.driver.close();
    this.driver = this.#newDriver();
    this.events.length = 0;
    this.connect();
    await this.happens('opened');
  }

  happens<K extends ConnectionEvent['kind']>(kind: K): Promise<Extract<ConnectionEvent, { kind: K }>> {
    const found = () =>
      this.events.find((event): event is Extract<ConnectionEvent, { kind: K }> => event.kind === kind);
    return until(`the connection is ${kind}`, found);
  }

  /**
   * Waits for a message. Meanwhile the driver's pauses of some seconds end at once, before it requests a message or
   * a file again.
   */
  receives(what: string, fits: (message: InboundMessage) => boolean): Promise<InboundMessage> {
    return until(what, () => {
      const found = this.rows.inbound.find(fits);
      if (!found) this.clock.skip(LIMIT_MS);
      return found;
    });
  }

  /** Waits for the message with this id. */
  gets(id: string): Promise<InboundMessage> {
    return this.receives(`message ${id}`, ({ wa_message_id }) => wa_message_id === id);
  }

  text(text: string): Promise<InboundMessage> {
    return this.receives(`"${text}"`, (message) => message.text === text);
  }

  message(chat: string, content: OutboundContent, more: Partial<ClaimedMessage> = {}): ClaimedMessage {
    return {
      message_id: randomUUID(),
      conversation_id: chat,
      chat,
      wa_message_id: `3EB0${randomUUID().replaceAll('-', '').slice(0, 18).toUpperCase()}`,
      type: content.type,
      content: JSON.stringify(content),
      interactive_mode: 'native+text',
      quoted: null,
      built: null,
      rendered_as: null,
      attempted_at: null,
      ...more,
    };
  }

  /** @param signal stops waiting for the network's answer */
  async send(message: ClaimedMessage, mayWrite = () => true, signal: Stanza['signal'] = NEVER_ABORTED) {
    const built = await this.driver.build(message);
    this.rows.built.set(message.wa_message_id, built.bytes);
    await this.driver.send({
      waMessageId: message.wa_message_id,
      chat: message.chat,
      bytes: built.bytes,
      mayWrite,
      signal,
    });
    return { id: message.wa_message_id, ...built };
  }

  sendText(chat: string, body: string) {
    return this.send(this.message(chat, { type: 'text', text: { body } }));
  }
}

export interface NumberStage {
  running: RunningNetwork;
  network: RunningNetwork['client'];
  number: SimulatedInstance;
  phone: Awaited<ReturnType<RunningNetwork['client']['phone']>>;
  ana: Awaited<ReturnType<RunningNetwork['client']['contact']>>;
  close: () => Promise<void>;
}

export const QR = { session: '00000000-0000-7000-8000-000000000001', method: 'qr', phone: null } as const;

/** A network, a linked and connected instance, and a contact. */
export async function numberStage({ paired = true } = {}): Promise<NumberStage> {
  const running = await startNetwork();
  const phone = await running.client.phone('5511900000001', { name: 'Shop' });
  const ana = await running.client.contact('5511900000002', { name: 'Ana' });
  const number = new SimulatedInstance(running);
  const close = async (): Promise<void> => {
    await number.driver.close();
    await running.close();
  };
  const stage = { running, network: running.client, number, phone, ana, close };
  if (!paired) return stage;
  try {
    number.connect(QR);
    await phone.scan((await number.happens('qr')).code);
    await number.happens('opened');
  } catch (error) {
    await close();
    throw error;
  }
  return stage;
}

/** The same with a stranger who has sent one message only, and a group of the phone and the contact. */
export async function strangerStage(): Promise<NumberStage & { eve: NumberStage['ana']; group: string }> {
  const stage = await numberStage();
  const { network, number, ana, phone } = stage;
  const eve = await network.contact('5511900000066', { name: 'Eve' });
  const group = await network.group('Friends', [phone, ana]);
  for (const person of [ana, eve]) await person.writes(`first of ${person.number}`, { to: phone.number });
  for (const person of [ana, eve]) await number.text(`first of ${person.number}`);
  return { ...stage, eve, group };
}

/** Waits until the engine and the network have handled everything in progress between them. */
export async function lineIsQuiet({ network, number, ana }: NumberStage): Promise<void> {
  const { seq } = (await network.stanzas({ way: 'in' })).at(-1)!;
  await number.driver.sendPresence(ana.jid, 'typing');
  await network.waitStanza({ way: 'in', tag: 'chatstate', after: seq });
}

const LOOKS = 20;

/**
 * Collects what a test sees while it polls the network often. All parts run in this process, so they make progress
 * meanwhile. It stands in for a delay where no later event shows that something did not happen.
 */
export async function seenMeanwhile<T>(
  { network }: Pick<NumberStage, 'network'>,
  look: () => T | Promise<T>,
): Promise<T[]> {
  const seen: T[] = [];
  while (seen.length < LOOKS) {
    await network.status();
    seen.push(await look());
  }
  return seen;
}

/** Makes each session write take as long as much other work in this process. */
export function slowWrites(stage: NumberStage): void {
  stage.number.rows.before = async (what) => {
    if (what === 'session') await seenMeanwhile(stage, () => undefined);
  };
}

/** Waits until the function returns something other than undefined. */
export async function until<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const lookFor = async () => {
    const found = await look();
    return found !== undefined && { found };
  };
  return (await untilIs(lookFor, { what, everyMs: 5 })).found;
}
