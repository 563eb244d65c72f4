import type { TestCluster } from '../support/kubernetes/test-cluster.js';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A proxy between an operator and a real API server. It fails like networks and busy servers: before a call takes
 * effect, after it, late, or with a conflict. It cuts, delays or mutes watches.
 */
export interface ApiFaults {
  /** Probabilities per call. */
  before: number;
  after: number;
  late: number;
  conflict: number;
  /** Probability that an event of a watch, and all that follow, are delayed. */
  lag: number;
  /** Probability that a watch is cut at an event. */
  cut: number;
}

export const NO_API_FAULTS: ApiFaults = { before: 0, after: 0, late: 0, conflict: 0, lag: 0, cut: 0 };

export interface RecordedCall {
  method: string;
  path: string;
  query: URLSearchParams;
  type: string | undefined;
  /** The server's answer; 0 until it arrives. */
  code: number;
}

type Replacement = { code: number; body: string } | undefined;

const LATE_MS = 400;
const LAG_MS = 700;

export class FaultyApi {
  faults: ApiFaults = NO_API_FAULTS;
  /** Replaces the server's answer; undefined: the server answers. */
  instead: (seen: RecordedCall) => Replacement | Promise<Replacement> = () => undefined;
  /** Watches deliver nothing, and stay open. */
  mute = false;
  readonly seen: RecordedCall[] = [];
  connections = 0;
  readonly #cluster: TestCluster;
  readonly #random: () => number;
  readonly #server: Server;
  readonly #agent: Agent;
  readonly #watches = new Set<ServerResponse>();

  constructor(cluster: TestCluster, random: () => number = Math.random) {
    this.#cluster = cluster;
    this.#random = random;
    this.#agent = new Agent({ keepAlive: true, ca: cluster.plane.ca });
    this.#server = createServer((incoming, response) => {
      // The server closed the connection. For the operator that is another call without an answer.
      this.#serve(incoming, response).catch(() => response.destroy());
    });
    this.#server.on('connection', () => this.connections++);
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await closed;
  }

  /** A TCP reset on every open watch. */
  resetWatches(): void {
    for (const response of this.#watches) response.socket?.resetAndDestroy();
  }

  get watches(): number {
    return this.#watches.size;
  }

  writes(): RecordedCall[] {
    return this.seen.filter(({ method }) => method !== 'GET');
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const url = new URL(incoming.url ?? '/', 'http://api');
    const { method = 'GET' } = incoming;
    const seen: RecordedCall = {
      method,
      path: url.pathname,
      query: url.searchParams,
      type: incoming.headers['content-type'],
      code: 0,
    };
    this.seen.push(seen);
    const instead = await this.instead(seen);
    if (instead) return void response.writeHead(instead.code).end(instead.body);
    const body = Buffer.concat(chunks);
    if (url.searchParams.get('watch') === 'true') await this.#watch(incoming, response);
    else await this.#call(incoming, response, body);
    seen.code = response.statusCode;
  }

  async #call(incoming: IncomingMessage, response: ServerResponse, body: Buffer): Promise<void> {
    const { before, after, late, conflict } = this.faults;
    let dice = this.#random();
    if ((dice -= before) < 0) return void response.destroy();
    if ((dice -= conflict) < 0 && incoming.method !== 'GET')
      return void response.writeHead(409).end(JSON.stringify({ reason: 'Conflict', message: 'injected' }));
    const broken = (dice -= after) < 0;
    if (!broken && dice < late) await sleep(this.#random() * LATE_MS);
    const answer = await this.#forward(incoming, body);
    if (broken) return void response.destroy();
    response.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
    answer.pipe(response);
  }

  async #watch(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await this.#forward(incoming, Buffer.alloc(0));
    response.writeHead(answer.statusCode ?? 502, { 'content-type': 'application/json' });
    response.flushHeaders();
    this.#watches.add(response);
    response.once('close', () => {
      this.#watches.delete(response);
      answer.destroy();
    });
    answer.once('error', () => response.destroy());
    answer.once('end', () => response.end());
    let last: Promise<void> = Promise.resolve();
    answer.on('data', (chunk: Buffer) => {
      last = last.then(() => this.#pass(response, chunk));
    });
  }

  async #pass(response: ServerResponse, chunk: Buffer): Promise<void> {
    if (this.mute) return;
    if (this.#random() < this.faults.cut) return void response.socket?.resetAndDestroy();
    if (this.#random() < this.faults.lag) await sleep(this.#random() * LAG_MS);
    response.write(chunk);
  }

  #forward(incoming: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const { url, token } = this.#cluster.plane;
    const { 'content-type': type } = incoming.headers;
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${url}${incoming.url}`,
        {
          method: incoming.method,
          agent: this.#agent,
          headers: {
            authorization: incoming.headers.authorization ?? `Bearer ${token}`,
            accept: 'application/json',
            'content-length': body.length,
            ...(type !== undefined && { 'content-type': type }),
          },
        },
        resolve,
      );
      outgoing.once('error', reject);
      outgoing.end(body);
    });
  }
}
