import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import type { proto } from '@whiskeysockets/baileys';
import { takeCall } from './calls/calls.js';
import type { Companion } from './people/account.js';
import { MediaStore } from './media/store.js';
import { settle } from './post/mail.js';
import { carryMessage } from './post/outgoing.js';
import { takeReceipt } from './post/receipts.js';
import { CodePairing } from './session/code-pairing.js';
import { logIn } from './session/login.js';
import { Pairing } from './session/pairing.js';
import { takeChatState, takePresence } from './session/presence.js';
import { answerQuery, asResult } from './session/queries.js';
import { Keeper } from './state/keeper.js';
import { restore } from './state/snapshot.js';
import { Connection } from './transport/connection.js';
import { Line, type LineClock } from './transport/line.js';
import { makeCertificates, type Certificates } from './wire/certificates.js';
import { child, ProtocolError, type Node } from './wire/nodes.js';
import { WebClientHost } from './web-client.js';
import { World, type WorldSettings } from './world.js';

export interface NetworkOptions extends Partial<WorldSettings> {
  port?: number;
  host?: string;
  certificates?: Certificates;
  mediaPort?: number;
  /** Name of the media hosts that clients learn. Defaults to `host`. */
  mediaName?: string;
  /** File that stores the state of the network for the next start. */
  stateFile?: string;
  /** Clock of slow lines. Defaults to the clock of the process. */
  lineClock?: LineClock;
}

const DEFAULTS: WorldSettings = { refs: 6, keep: 50_000 };

/** The whole network: its listener and all connected clients. */
export class Network {
  readonly world: World;
  readonly pairing: Pairing;
  readonly codes: CodePairing;
  readonly webClient = new WebClientHost();
  readonly #server: Server = createServer((request, response) => this.webClient.handle(request, response));
  readonly #sockets = new WebSocketServer({ server: this.#server, maxPayload: 32 * 1024 * 1024 });
  readonly #clients = new Map<Connection, Companion>();
  readonly #keeper?: Keeper;

  constructor(private readonly options: NetworkOptions = {}) {
    const settings = { refs: options.refs ?? DEFAULTS.refs, keep: options.keep ?? DEFAULTS.keep };
    const kept = options.stateFile === undefined ? undefined : Keeper.read(options.stateFile);
    this.world = new World(options.certificates ?? makeCertificates(kept?.root), settings);
    if (kept) restore(this.world, kept);
    if (options.stateFile !== undefined) this.#keeper = new Keeper(this.world, options.stateFile);
    this.pairing = new Pairing(this.world);
    this.codes = new CodePairing(this.world, this.pairing);
    this.#sockets.on('connection', (socket) => {
      if (this.world.faults.outage) return socket.terminate();
      const newLine = (connection: Connection) => {
        const faults = () => this.world.faults.line(this.#clients.get(connection)?.account.number);
        return new Line(faults, Math.random, options.lineClock);
      };
      this.world.connections.add(new Connection(socket, this.world.certificates, this.#events, newLine));
    });
  }

  get url(): string {
    return `ws://${this.options.host ?? '127.0.0.1'}:${this.port}/ws/chat`;
  }

  /** Address of the web client's service worker script. */
  get webClientUrl(): string {
    return `http://${this.options.host ?? '127.0.0.1'}:${this.port}/sw.js`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async listen(): Promise<this> {
    const { host, mediaPort, mediaName } = this.options;
    this.world.media = await new MediaStore().listen(host, mediaPort, mediaName);
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.options.port ?? 0, this.options.host ?? '127.0.0.1', resolve);
    });
    return this;
  }

  async close(): Promise<void> {
    this.#keeper?.end();
    for (const connection of this.world.connections) connection.cut();
    await this.world.media?.close();
    this.#sockets.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  readonly #events = {
    opened: (connection: Connection, payload: proto.ClientPayload) => this.#opened(connection, payload),
    stanza: (connection: Connection, stanza: Node) => this.#stanza(connection, stanza),
    left: (connection: Connection, stanza: Node) => this.#note(connection, stanza, { way: 'out' }),
    ignored: (connection: Connection, stanza: Node) =>
      this.#note(connection, stanza, { way: 'in', ignored: true }),
    failed: (_: Connection, error: Error) => this.world.violated(error.message),
    closed: (connection: Connection) => this.#closed(connection),
  };

  #opened(connection: Connection, payload: proto.ClientPayload): void {
    if (payload.devicePairingData) {
      // A client that disconnects before it answers needs nothing more.
      this.pairing.begin(connection, payload).catch((error: Error) => {
        if (error instanceof ProtocolError) this.world.violated(error.message);
        connection.dismiss();
      });
      return;
    }
    const companion = logIn(this.world, connection, payload);
    if (companion) this.#clients.set(connection, companion);
    this.world.changed();
  }

  #stanza(connection: Connection, stanza: Node): void {
    this.#note(connection, stanza, { way: 'in' });
    const companion = this.#clients.get(connection);
    if (companion) this.#fromDevice(companion, stanza);
    else this.#fromCandidate(connection, stanza);
    this.world.changed();
  }

  #fromDevice(companion: Companion, stanza: Node): void {
    const { world } = this;
    switch (stanza.tag) {
      case 'iq':
        return answerQuery(world, companion, stanza);
      case 'message':
        return carryMessage(world, companion, stanza);
      case 'receipt':
        return takeReceipt(world, companion, stanza);
      case 'ack':
        return settle(companion, stanza.attrs.class ?? '', [stanza.attrs.id ?? '']);
      case 'presence':
        return takePresence(world, companion, stanza);
      case 'call':
        return takeCall(world, companion, stanza);
      case 'chatstate':
        return takeChatState(world, companion, stanza);
      case 'ib':
        return;
      default:
        world.unhandled.push(stanza.tag);
    }
  }

  /** A client that is not linked yet may only pair. */
  #fromCandidate(connection: Connection, stanza: Node): void {
    if (stanza.tag !== 'iq') return;
    const answer = child(stanza, 'link_code_companion_reg')
      ? this.codes.take(connection, stanza)
      : this.pairing.passkeys.take(connection, stanza);
    connection.send(asResult(stanza, answer ?? []));
  }

  #note(connection: Connection, stanza: Node, how: { way: 'in' | 'out'; ignored?: boolean }): void {
    const companion = this.#clients.get(connection);
    this.world.record.add({
      ...how,
      connection: connection.id,
      stanza,
      ...(companion && { number: companion.account.number, device: companion.id }),
    });
    this.world.changed();
  }

  #closed(connection: Connection): void {
    this.world.connections.delete(connection);
    this.pairing.end(connection);
    const companion = this.#clients.get(connection);
    this.#clients.delete(connection);
    if (companion?.connection === connection) {
      delete companion.connection;
      companion.active = false;
      companion.available = false;
    }
    this.world.changed();
  }
}
