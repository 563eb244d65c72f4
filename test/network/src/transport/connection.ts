import { randomUUID } from 'node:crypto';
import { decodeBinaryNode, encodeBinaryNode, type proto } from '@whiskeysockets/baileys';
import type { WebSocket } from 'ws';
import type { Certificates } from '../wire/certificates.js';
import { framed, FrameReader } from '../wire/frames.js';
import { Handshake, type Session } from '../wire/noise.js';
import type { Node } from '../wire/nodes.js';
import type { Line } from './line.js';

export interface ConnectionEvents {
  opened(connection: Connection, payload: proto.ClientPayload): void;
  /** Stanzas are handled one after the other. */
  stanza(connection: Connection, stanza: Node): Promise<void> | void;
  left(connection: Connection, stanza: Node): void;
  /** A stanza that arrived after the network had dismissed the client. */
  ignored(connection: Connection, stanza: Node): void;
  failed(connection: Connection, error: Error): void;
  closed(connection: Connection): void;
}

const ANSWER_LIMIT_MS = 30_000;
const CLOSING_MS = 1000;

/** A client's connection: its handshake, its stanzas in both directions, and the faults of its line. */
export class Connection {
  readonly id = randomUUID();
  /** Known after the handshake. */
  clientKey: Buffer = Buffer.alloc(0);
  routing?: Buffer;
  /** Set when the network has dismissed this client. Its stanzas are ignored from then on. */
  deaf = false;

  readonly #frames = new FrameReader();
  readonly #awaited = new Map<string, (answer: Node) => void>();
  #handshake?: Handshake;
  #session?: Session;
  #answered = false;
  #work: Promise<void> = Promise.resolve();
  #requests = 0;
  readonly #incoming: Line;
  readonly #outgoing: Line;

  constructor(
    private readonly socket: WebSocket,
    private readonly certificates: Certificates,
    private readonly events: ConnectionEvents,
    newLine: (connection: Connection) => Line,
  ) {
    this.#incoming = newLine(this);
    this.#outgoing = newLine(this);
    socket.on('message', (data: Buffer) => this.#take(data));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.deaf = true;
      this.events.closed(this);
    });
  }

  get open(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  /** Sends a stanza, unless the connection was dismissed. */
  send(stanza: Node): void {
    if (this.deaf) return;
    this.#outgoing.carry(() => this.#write(stanza));
  }

  /** Sends bytes that are not a stanza, encrypted like one. */
  sendBytes(bytes: Uint8Array): void {
    if (this.#session && this.open) this.socket.send(framed(this.#session.outgoing.seal(bytes)));
  }

  /** Sends a query and waits for the client's answer. */
  async request(stanza: Node): Promise<Node> {
    const id = `net-${++this.#requests}`;
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => {
        this.#awaited.delete(id);
        reject(new Error(`the client did not answer ${stanza.tag} in ${ANSWER_LIMIT_MS / 1000} s`));
      }, ANSWER_LIMIT_MS);
      limit.unref();
      this.#awaited.set(id, (answer) => {
        clearTimeout(limit);
        resolve(answer);
      });
      this.send({ ...stanza, attrs: { ...stanza.attrs, id } });
    });
  }

  /**
   * Sends a last stanza and ignores the client from then on. If the client does not close, the network does so after a
   * while.
   */
  dismiss(lastWord?: Node): void {
    if (lastWord) this.send(lastWord);
    this.deaf = true;
    setTimeout(() => this.socket.close(), CLOSING_MS).unref();
  }

  /** Ends the connection without a close, as if the cable were pulled. */
  cut(): void {
    this.deaf = true;
    this.socket.terminate();
  }

  #write(stanza: Node): void {
    if (!this.#session || !this.open) return;
    this.socket.send(framed(this.#session.outgoing.seal(encodeBinaryNode(stanza))));
    this.events.left(this, stanza);
  }

  #take(data: Buffer): void {
    this.#work = this.#work
      .then(() => this.#read(data))
      .catch((error: Error) => {
        this.deaf = true;
        this.events.failed(this, error);
        this.socket.close();
      });
  }

  async #read(data: Buffer): Promise<void> {
    this.#frames.push(data);
    const opening = this.#frames.opening();
    if (!opening) return;
    if (!this.#handshake) {
      this.#handshake = new Handshake(this.certificates, opening.header);
      if (opening.routing) this.routing = opening.routing;
    }
    for (let frame = this.#frames.next(); frame; frame = this.#frames.next()) {
      if (this.#session) await this.#readStanza(this.#session, frame);
      else this.#readHandshake(this.#handshake, frame);
    }
  }

  #readHandshake(handshake: Handshake, frame: Buffer): void {
    if (!this.#answered) {
      this.#answered = true;
      this.socket.send(framed(handshake.answer(frame)));
      return;
    }
    this.#session = handshake.finish(frame);
    this.clientKey = this.#session.clientKey;
    this.events.opened(this, this.#session.payload);
  }

  async #readStanza(session: Session, frame: Buffer): Promise<void> {
    const stanza = await decodeBinaryNode(Buffer.from(session.incoming.open(frame)));
    this.#incoming.carry(() => {
      this.#work = this.#work
        .then(() => this.#hand(stanza))
        .catch((error: Error) => {
          this.events.failed(this, error);
        });
    });
  }

  async #hand(stanza: Node): Promise<void> {
    if (this.deaf) return this.events.ignored(this, stanza);
    const awaited = stanza.tag === 'iq' ? this.#awaited.get(stanza.attrs.id ?? '') : undefined;
    if (awaited && ['result', 'error'].includes(stanza.attrs.type ?? '')) {
      this.#awaited.delete(stanza.attrs.id ?? '');
      awaited(stanza);
      return;
    }
    await this.events.stanza(this, stanza);
  }
}
