import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import {
  CHANNEL_PATH,
  LEAVE_CODE,
  MAX_CALL_BYTES,
  type ChannelAnswer,
  type ChannelCall,
} from '@gwk/core/protocol/call-channel';
import { REFUSALS } from '@gwk/core/protocol/refusals';
import { WebSocketServer, type WebSocket } from 'ws';
import { z } from 'zod';
import type { EngineCaller } from '../fencing/fence.js';
import { RefusalError } from '../fencing/refusal.js';
import { parseJson } from './body.js';

const Call = z.object({
  id: z.int(),
  route: z.string(),
  traceparent: z.string().optional(),
  body: z.unknown(),
}) satisfies z.ZodType<ChannelCall>;

type Authorization = string | undefined;

export type IncomingCall = Omit<ChannelCall, 'id'> & { authorization: Authorization; bytes: number };

/** `text`: the body, in JSON. Resolves to whether the whole answer has left. */
export type Reply = (answer: { status: number; text: string }) => Promise<boolean>;

interface CallChannelsOptions {
  /** @throws RefusalError for credentials that open no channel, and while they cannot be checked */
  authenticate: (authorization: Authorization) => Promise<Pick<EngineCaller, 'instanceId'>>;
  /** Measures a request to open a channel. The result is to be called with the status of its answer, and whether it could leave. */
  observe: (request: IncomingMessage) => (status: number, isComplete: boolean) => void;
  /** Answers a call. Never rejects. */
  answer: (call: IncomingCall, reply: Reply) => Promise<void>;
  /** Closes a channel without calls for this long: engines renew their leases more often. */
  silenceMs: number;
}

/**
 * Unanswered calls of one channel. At this number the channel reads no further bytes, so an engine that does not read
 * its answers fills no memory.
 */
const MAX_UNANSWERED = 32;
/** One in use, one before it, and those of a former pod. A further one replaces the oldest, so their calls fill no memory. */
const MAX_CHANNELS_OF_INSTANCE = 4;
/** Idle channels that close at once when the server is at its limit of connections. */
const SHED_AT_ONCE = 16;

interface OpenChannel {
  instanceId: string;
  unanswered: number;
}

/** Whether it has the method and the path of a request to open a channel. */
export const isForChannel = ({ method, url }: IncomingMessage): boolean =>
  method === 'GET' && url === CHANNEL_PATH;

/** For the option `shouldUpgradeCallback`. Other requests to upgrade are answered as if they were none. */
export const isChannelRequest = (request: IncomingMessage): boolean =>
  isForChannel(request) && request.headers.upgrade?.toLowerCase() === 'websocket';

/** WebSockets on which engines send their small calls (core/src/protocol/call-channel.ts). */
export class CallChannels {
  readonly #options: CallChannelsOptions;
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_CALL_BYTES,
    perMessageDeflate: false,
  });
  /** Connections whose credentials are checked now. */
  readonly #opening = new Set<Socket>();
  /** Oldest first. */
  readonly #open = new Map<WebSocket, OpenChannel>();
  #isClosing = false;

  constructor(options: CallChannelsOptions) {
    this.#options = options;
  }

  attach(server: Server): void {
    server.on('upgrade', (request, socket, head) => void this.#upgrade(request, socket as Socket, head));
    // The server calls it at its limit of connections.
    const closeIdle = server.closeIdleConnections.bind(server);
    server.closeIdleConnections = () => {
      closeIdle();
      const idle = [...this.#open].filter(([, { unanswered }]) => unanswered === 0);
      for (const [channel] of idle.slice(0, SHED_AT_ONCE)) leave(channel);
    };
  }

  /** Reads no further calls, and closes each channel once its calls are answered. */
  close(): void {
    this.#isClosing = true;
    for (const channel of this.#open.keys()) this.#count(channel, 0);
  }

  terminate(): void {
    for (const socket of this.#opening) socket.destroy();
    for (const channel of this.#open.keys()) channel.terminate();
  }

  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const onError = (): void => void socket.destroy();
    socket.on('error', onError);
    this.#opening.add(socket);
    const end = this.#options.observe(request);
    const caller = await this.#admit(request);
    this.#opening.delete(socket);
    if (caller instanceof RefusalError) {
      end(caller.status, !socket.destroyed);
      return refuse(socket, caller);
    }
    socket.off('error', onError);
    let status = 400;
    this.#server.handleUpgrade(request, socket, head, (channel) => {
      status = 101;
      this.#replaceOldest(caller.instanceId);
      this.#open.set(channel, { instanceId: caller.instanceId, unanswered: 0 });
      this.#serve(channel, socket, request.headers.authorization);
    });
    end(status, !socket.destroyed);
  }

  async #admit({ headers }: IncomingMessage): Promise<Pick<EngineCaller, 'instanceId'> | RefusalError> {
    try {
      const caller = await this.#options.authenticate(headers.authorization);
      return this.#isClosing ? new RefusalError('unavailable') : caller;
    } catch (error) {
      return error instanceof RefusalError ? error : new RefusalError('unavailable');
    }
  }

  #replaceOldest(instanceId: string): void {
    const own = [...this.#open].filter(([, open]) => open.instanceId === instanceId);
    if (own.length >= MAX_CHANNELS_OF_INSTANCE) own[0]![0].terminate();
  }

  #serve(channel: WebSocket, socket: Socket, authorization: Authorization): void {
    socket.setTimeout(this.#options.silenceMs, () => channel.terminate());
    channel.on('error', () => channel.terminate());
    channel.on('close', () => this.#open.delete(channel));
    channel.on('message', (data: Buffer, isBinary) => {
      // By the close code that `leave` sent, later calls do not run.
      if (channel.readyState !== channel.OPEN) return;
      const call = isBinary ? undefined : readCall(data);
      if (call) void this.#answer(channel, call, { authorization, bytes: data.length });
      else channel.terminate();
    });
  }

  async #answer(
    channel: WebSocket,
    { id, route, traceparent, body }: ChannelCall,
    more: { authorization: Authorization; bytes: number },
  ): Promise<void> {
    this.#count(channel, 1);
    await this.#options.answer({ route, traceparent, body, ...more }, ({ status, text }) => {
      return new Promise((resolve) => {
        channel.send(toFrame({ id, status }, text), (error) => resolve(!error));
        // A token that is no longer valid opens no channel either.
        if (status === REFUSALS.unauthorized) channel.close();
      });
    });
    this.#count(channel, -1);
  }

  #count(channel: WebSocket, by: number): void {
    const open = this.#open.get(channel);
    if (open === undefined) return;
    const unanswered = (open.unanswered += by);
    const mustPause = unanswered >= MAX_UNANSWERED || (this.#isClosing && unanswered > 0);
    if (mustPause && !channel.isPaused) channel.pause();
    if (!mustPause && channel.isPaused) channel.resume();
    if (this.#isClosing && unanswered === 0) leave(channel);
  }
}

/** The body is JSON already. */
const toFrame = (head: Omit<ChannelAnswer, 'body'>, body: string): string =>
  `${JSON.stringify(head).slice(0, -1)},"body":${body}}`;

function leave(channel: WebSocket): void {
  channel.close(LEAVE_CODE);
}

/** Undefined for what is no call. */
function readCall(data: Buffer): ChannelCall | undefined {
  try {
    return Call.safeParse(parseJson(data)).data;
  } catch {
    return undefined;
  }
}

function refuse(socket: Socket, { status, body }: RefusalError): void {
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(text)}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy());
}
