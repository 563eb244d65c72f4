import type { WebSocket } from 'ws';
import { backoffDelay } from '../async/backoff.js';
import type { Clock } from '../clock.js';

/**
 * A WebSocket to the internal API for the small calls of an engine, `GET {base}/engine/calls`. A call is one text frame
 * in each direction, a ChannelCall and a ChannelAnswer. An HTTP exchange takes an engine about three times as long,
 * mostly for headers.
 *
 * The channel opens at the first call, and again after it closed. Until it is open, calls use HTTP. So an API without
 * channels, or a proxy that does not support them, is no error.
 */
export const CHANNEL_PATH = '/engine/calls';

/** Limit of a frame to the API, in bytes. The channel sends no larger call; those use HTTP. */
export const MAX_CALL_BYTES = 64 * 1024;

/** Close code 1001 of RFC 6455: the API stops, or needs the connection. It has answered the calls that it ran, and has run no other. */
export const LEAVE_CODE = 1001;

export interface ChannelCall {
  id: number;
  route: string;
  traceparent?: string | undefined;
  body: unknown;
}

export interface ChannelAnswer {
  id: number;
  /** As in HTTP. */
  status: number;
  body: unknown;
}

interface CallChannelOptions {
  /** Address of the internal API. */
  baseUrl: string;
  token: string;
  ca: string | undefined;
  /** Limit of an answer, in bytes. */
  maxAnswerBytes: number;
  clock: Clock;
}

interface Connection {
  socket: WebSocket;
  /** Calls without an answer, by id. */
  waiting: Map<number, PromiseWithResolvers<ChannelAnswer | undefined>>;
  /** From now on further calls use another connection. */
  endsAt: number;
}

const OPEN_TIMEOUT_MS = 5_000;
/** After connections that did not open or answered no call: behind some proxies that stays so. */
const REOPEN = { firstMs: 10_000, maxMs: 600_000 };
/** So that engines spread over new replicas of the API. */
const MAX_AGE_MS = 10 * 60_000;

export class CallChannel {
  readonly #options: CallChannelOptions;
  #connection: Connection | undefined;
  #lastId = 0;
  #mayOpenAt = -Infinity;
  /** Connections since the last answer. */
  #unanswered = 0;

  constructor(options: CallChannelOptions) {
    this.#options = options;
  }

  /**
   * @param body JSON
   * @returns undefined if the API did not get the call, or did not run it: the caller must use HTTP
   * @throws Error when there is no answer in time, or the connection closes first
   */
  async call(
    route: string,
    body: string,
    { timeoutMs, traceparent }: { timeoutMs: number; traceparent: string | null | undefined },
  ): Promise<ChannelAnswer | undefined> {
    const connection = this.#findOpen();
    if (!connection) return undefined;
    const id = ++this.#lastId;
    const trace = traceparent ? `"traceparent":${JSON.stringify(traceparent)},` : '';
    const text = `{"id":${id},"route":${JSON.stringify(route)},${trace}"body":${body}}`;
    if (Buffer.byteLength(text) > MAX_CALL_BYTES) return undefined;
    const { socket, waiting } = connection;
    const answer: ReturnType<typeof waiting.get> = Promise.withResolvers();
    const cancel = this.#options.clock.after(timeoutMs, () => {
      // The connection may be dead. Calls that still wait for it end by their own timeouts.
      this.#retire(connection);
      answer.reject(new Error('timeout'));
    });
    waiting.set(id, answer);
    socket.send(text);
    try {
      return await answer.promise;
    } finally {
      cancel();
      waiting.delete(id);
      if (this.#connection !== connection) this.#retire(connection);
    }
  }

  close(): void {
    this.#mayOpenAt = Infinity;
    this.#connection?.socket.terminate();
  }

  #findOpen(): Connection | undefined {
    const now = this.#options.clock.now();
    if (this.#connection && now >= this.#connection.endsAt) this.#retire(this.#connection);
    if (!this.#connection && now >= this.#mayOpenAt) {
      this.#mayOpenAt = now + backoffDelay(REOPEN, ++this.#unanswered);
      // Errors here, of the certificate authority for example, are those of HTTP too, which reports them.
      this.#open().catch(() => undefined);
    }
    const { socket } = this.#connection ?? {};
    return socket && socket.readyState === socket.OPEN ? this.#connection : undefined;
  }

  /** Uses the connection for no further call, and closes it after its last one. */
  #retire(connection: Connection): void {
    if (this.#connection === connection) this.#connection = undefined;
    if (connection.waiting.size === 0) connection.socket.terminate();
  }

  async #open(): Promise<void> {
    // The operator shares the module that imports this one, and needs no WebSocket.
    const { WebSocket } = await import('ws');
    if (this.#mayOpenAt === Infinity) return;
    const { baseUrl, token, ca, maxAnswerBytes, clock } = this.#options;
    const socket = new WebSocket(new URL(CHANNEL_PATH, baseUrl.replace(/^http/, 'ws')), {
      headers: { authorization: `Bearer ${token}` },
      ca,
      handshakeTimeout: OPEN_TIMEOUT_MS,
      maxPayload: maxAnswerBytes,
      perMessageDeflate: false,
    });
    const endsAt = clock.now() + MAX_AGE_MS * (0.9 + 0.2 * Math.random());
    const connection: Connection = { socket, waiting: new Map(), endsAt };
    this.#connection = connection;
    let failure = new Error('the connection closed');
    socket.on('error', (error) => (failure = error));
    // The timers of calls keep the process running. An idle connection must not.
    socket.on('upgrade', (response) => response.socket.unref());
    socket.on('message', (data) => this.#take(connection, data as Buffer));
    socket.on('close', (code) => {
      if (this.#connection === connection) this.#connection = undefined;
      for (const { resolve, reject } of connection.waiting.values())
        if (code === LEAVE_CODE) resolve(undefined);
        else reject(failure);
    });
  }

  #take({ socket, waiting }: Connection, data: Buffer): void {
    const answer = parseAnswer(data);
    if (!answer) return socket.terminate();
    if (this.#mayOpenAt < Infinity) this.#mayOpenAt = -Infinity;
    this.#unanswered = 0;
    waiting.get(answer.id)?.resolve(answer);
  }
}

/** Undefined for what is no answer. */
function parseAnswer(data: Buffer): ChannelAnswer | undefined {
  try {
    const answer = JSON.parse(data.toString()) as ChannelAnswer | null;
    return typeof answer?.id === 'number' ? answer : undefined;
  } catch {
    return undefined;
  }
}
