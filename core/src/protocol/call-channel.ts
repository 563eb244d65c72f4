import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import { backoffDelay } from '../async/backoff.js';
import type { Clock } from '../clock.js';

/**
 * A WebSocket to the internal API for the small calls of an engine, `GET {base}/engine/calls`. A call is one text frame
 * in each direction, a ChannelCall and a ChannelAnswer. An HTTP exchange takes an engine about three times as long,
 * mostly for headers.
 *
 * The channel opens at the first call, and again after it closed. Calls wait for it. If it cannot open, they fail as in
 * any outage of the API, and so do all calls until the next try.
 */
export const CHANNEL_PATH = '/engine/calls';

/** Limit of a frame to the API, in bytes. */
export const MAX_CALL_BYTES = 64 * 1024;
/** Larger bodies go by HTTP. The rest of a frame is for id, route and trace. */
export const MAX_CHANNEL_BODY_BYTES = MAX_CALL_BYTES - 1024;

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

/** The channel did not open, so the API has not run the call. */
export class ChannelNotOpen extends Error {
  override name = 'ChannelNotOpen';
  constructor(
    override readonly cause: Error,
    /** Until then all calls fail. Null: the next call tries to open it. */
    readonly retryAfterMs: number | null,
  ) {
    super(`the WebSocket to the internal API did not open: ${cause.message}`);
  }
}

interface CallChannelOptions {
  /** Address of the internal API. */
  baseUrl: string;
  token: string;
  ca: string | undefined;
  /** Limit of an answer, in bytes. */
  maxAnswerBytes: number;
  /** The API, or a proxy before it, answers in HTTP instead of opening a channel. Never rejects. */
  readRefusal: (response: IncomingMessage) => Promise<OpenFailure>;
  clock: Clock;
}

/** `retryAfterMs`: when the API wants the next try. */
type OpenFailure = Error & { retryAfterMs?: number | null };

interface CallOptions {
  timeoutMs: number;
  traceparent: string | null | undefined;
}

type Answer = Omit<ChannelAnswer, 'id'>;

interface Connection {
  opened: Promise<WebSocket>;
  socket?: WebSocket;
  /** Calls without an answer, by id. Resolves to undefined if the API has not run the call. */
  waiting: Map<number, PromiseWithResolvers<Answer | undefined>>;
  /** When it began to open. */
  triedAt: number;
  /** From now on further calls use another connection. */
  endsAt: number;
}

const OPEN_TIMEOUT_MS = 5_000;
/**
 * Time between two tries to open the channel. Without it each call and each retry would cost the API a TLS handshake, while
 * it cannot check tokens for example. The longest time is short beside a lease, so renewals succeed after an outage.
 */
const REOPEN = { firstMs: 1_000, maxMs: 5_000 };
/** Longest random addition to the time that the API asks for, as a share of it. */
const JITTER = 0.5;
/** So that engines spread over new replicas of the API. */
const MAX_AGE_MS = 10 * 60_000;

export class CallChannel {
  readonly #options: CallChannelOptions;
  #connection: Connection | undefined;
  #lastId = 0;
  /** Tries since a channel was open, the reason of the last one, and the time of the next one. */
  #failed: { tries: number; reason: Error; reopenAt: number } | undefined;
  #isClosed = false;

  constructor(options: CallChannelOptions) {
    this.#options = options;
  }

  /**
   * @param body JSON, at most MAX_CHANNEL_BODY_BYTES
   * @throws ChannelNotOpen; Error when there is no answer in time, or the connection closes first
   */
  async call(route: string, body: string, { timeoutMs, traceparent }: CallOptions): Promise<Answer> {
    const { clock } = this.#options;
    const trace = traceparent ? `"traceparent":${JSON.stringify(traceparent)},` : '';
    const frame = `"route":${JSON.stringify(route)},${trace}"body":${body}}`;
    const endsAt = clock.now() + timeoutMs;
    // A leaving API has not run the call. Another connection reaches another replica.
    const answer = (await this.#send(frame, timeoutMs)) ?? (await this.#send(frame, endsAt - clock.now()));
    if (!answer) throw new Error('the internal API closes its connections');
    return answer;
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.socket?.terminate();
  }

  /**
   * @param frame without its id
   * @returns undefined if the API has not run the call
   */
  async #send(frame: string, timeoutMs: number): Promise<Answer | undefined> {
    const connection = this.#findConnection();
    const answer: PromiseWithResolvers<Answer | undefined> = Promise.withResolvers();
    // Until the connection is open, nothing else awaits it.
    answer.promise.catch(() => undefined);
    const id = ++this.#lastId;
    connection.waiting.set(id, answer);
    const cancel = this.#options.clock.after(timeoutMs, () => {
      // The connection may be dead. Calls that still wait for it end by their own timeouts.
      this.#retire(connection);
      answer.reject(new Error('timeout'));
    });
    try {
      const sent = connection.opened.then((socket) => {
        // Its time may be over.
        if (connection.waiting.has(id)) socket.send(`{"id":${id},${frame}`);
      });
      await Promise.race([sent, answer.promise]);
      return await answer.promise;
    } finally {
      cancel();
      connection.waiting.delete(id);
      if (this.#connection !== connection) this.#retire(connection);
    }
  }

  #findConnection(): Connection {
    const current = this.#connection;
    if (current && this.#options.clock.now() >= current.endsAt) this.#retire(current);
    if (!this.#connection && this.#msToReopen > 0) throw this.#notOpen(this.#failed!.reason);
    return (this.#connection ??= this.#open());
  }

  get #msToReopen(): number {
    return this.#failed ? Math.ceil(this.#failed.reopenAt - this.#options.clock.now()) : 0;
  }

  #notOpen(reason: Error): ChannelNotOpen {
    return new ChannelNotOpen(reason, this.#msToReopen > 0 ? this.#msToReopen : null);
  }

  /** @param triedAt when the try began. One that took long delays the next one less. */
  #delayReopening(reason: OpenFailure, triedAt: number): ChannelNotOpen {
    const tries = (this.#failed?.tries ?? 0) + 1;
    const askedMs = (reason.retryAfterMs ?? 0) * (1 + JITTER * Math.random());
    const reopenAt = Math.max(
      triedAt + backoffDelay(REOPEN, tries),
      askedMs > 0 ? this.#options.clock.now() + askedMs : 0,
    );
    this.#failed = { tries, reason, reopenAt };
    return this.#notOpen(reason);
  }

  /** Uses the connection for no further call, and closes it after its last one. */
  #retire(connection: Connection): void {
    if (this.#connection === connection) this.#connection = undefined;
    if (connection.waiting.size === 0) connection.socket?.terminate();
  }

  #open(): Connection {
    const triedAt = this.#options.clock.now();
    const endsAt = triedAt + MAX_AGE_MS * (0.9 + 0.2 * Math.random());
    const opened: PromiseWithResolvers<WebSocket> = Promise.withResolvers();
    opened.promise.catch(() => undefined);
    const connection: Connection = { opened: opened.promise, waiting: new Map(), triedAt, endsAt };
    this.#connect(connection, opened).catch((error: Error) => {
      opened.reject(this.#delayReopening(error, triedAt));
      this.#retire(connection);
    });
    return connection;
  }

  async #connect(connection: Connection, opened: PromiseWithResolvers<WebSocket>): Promise<void> {
    // The operator shares the module that imports this one, and needs no WebSocket.
    const { WebSocket } = await import('ws');
    if (this.#isClosed) throw new Error('the client is closed');
    const { baseUrl, token, ca, maxAnswerBytes, readRefusal } = this.#options;
    const socket = new WebSocket(new URL(CHANNEL_PATH, baseUrl.replace(/^http/, 'ws')), {
      headers: { authorization: `Bearer ${token}` },
      ca,
      handshakeTimeout: OPEN_TIMEOUT_MS,
      maxPayload: maxAnswerBytes,
      perMessageDeflate: false,
    });
    connection.socket = socket;
    let failure: OpenFailure | undefined;
    let isOpen = false;
    socket.on('error', (error) => (failure ??= error));
    socket.on('unexpected-response', (_request, response) => {
      void readRefusal(response).then((refusal) => {
        failure ??= refusal;
        socket.terminate();
      });
    });
    // The timers of calls keep the process running. An idle connection must not.
    socket.on('upgrade', (response) => response.socket.unref());
    socket.on('open', () => {
      isOpen = true;
      this.#failed = undefined;
      opened.resolve(socket);
      // Its calls may have ended meanwhile.
      if (this.#connection !== connection) this.#retire(connection);
    });
    socket.on('message', (data) => receive(connection, socket, data as Buffer));
    socket.on('close', (code) => {
      if (this.#connection === connection) this.#connection = undefined;
      const error = failure ?? new Error('the connection closed');
      const reason = isOpen ? error : this.#delayReopening(error, connection.triedAt);
      opened.reject(reason);
      for (const { resolve, reject } of connection.waiting.values())
        if (code === LEAVE_CODE) resolve(undefined);
        else reject(reason);
    });
  }
}

function receive({ waiting }: Connection, socket: WebSocket, data: Buffer): void {
  const answer = parseJson(data) as ChannelAnswer | null | undefined;
  if (typeof answer?.id !== 'number') return socket.terminate();
  waiting.get(answer.id)?.resolve(answer);
}

/** Undefined for what is not JSON. */
function parseJson(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString());
  } catch {
    return undefined;
  }
}
