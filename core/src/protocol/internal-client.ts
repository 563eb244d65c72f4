import type {
  Agent as HttpAgent,
  AgentOptions,
  ClientRequest,
  IncomingMessage,
  OutgoingHttpHeaders,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pipeline, type Readable } from 'node:stream';
import { processClock, type Clock } from '../clock.js';
import { http } from '../http/node-http.js';
import { CallChannel, ChannelNotOpen, MAX_CHANNEL_BODY_BYTES } from './call-channel.js';
import type {
  EngineRequest,
  EngineResponse,
  EngineRoute,
  MediaDownload,
  MediaUploadResponse,
} from './engine.js';
import type { OperatorRequest, OperatorResponse, OperatorRoute } from './operator.js';
import { isRefusal, REFUSALS, type Refusal } from './refusals.js';

/**
 * Clients of the internal API, for engines and the operator. They use node:http(s) and only types of the protocol: zod
 * and fetch would add memory to every engine.
 */
export class InternalApiRefusal extends Error {
  override name = 'InternalApiRefusal';
  constructor(
    readonly refusal: Refusal,
    readonly retryAfterMs: number | null,
  ) {
    super(`the internal API refused the call: ${refusal}`);
  }
}

/**
 * There was no response, or the API failed, so whether the call took effect is unknown. A call whose WebSocket did not open
 * took none, and the message says so.
 */
export class InternalApiUnreachable extends Error {
  override name = 'InternalApiUnreachable';
  constructor(
    message: string,
    /** When an overloaded API wants the next attempt, or the WebSocket may open. */
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
}

interface InternalClientOptions {
  baseUrl: string;
  token: string;
  /** PEM of the only trusted certificate authority, if the API uses TLS. */
  ca?: string | undefined;
  timeoutMs: number;
  userAgent?: string;
  /** Clock of the channel for small calls (default: that of the process). */
  clock?: Clock;
}

/**
 * Shorter than the API keeps idle connections, so that a call never meets the end of one. Without a timeout of its own,
 * node:http also ignores the timeout that a server announces. A connection that waits for a response is idle too: the API
 * closes it after the same time.
 */
const IDLE_CONNECTION_MS = 60_000;
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

class InternalClient {
  protected readonly options: InternalClientOptions;
  readonly #agent: HttpAgent;

  constructor(options: InternalClientOptions) {
    this.options = options;
    this.#agent = this.agent({ keepAlive: true, maxSockets: 8, timeout: IDLE_CONNECTION_MS });
  }

  protected agent(settings: AgentOptions): HttpAgent {
    return this.options.baseUrl.startsWith('https:') ? new HttpsAgent(settings) : new http.Agent(settings);
  }

  close(): void {
    this.#agent.destroy();
  }

  /**
   * @param send sends the body
   * @returns a response with status 200, once its headers have arrived
   */
  protected async request(
    path: string,
    { agent, headers }: { agent: HttpAgent; headers: OutgoingHttpHeaders },
    send: (call: ClientRequest) => void,
  ): Promise<IncomingMessage> {
    const { baseUrl, ca, token, userAgent } = this.options;
    const url = new URL(path, baseUrl);
    const open = url.protocol === 'https:' ? httpsRequest : http.request;
    const authorized = {
      authorization: `Bearer ${token}`,
      ...(userAgent !== undefined && { 'user-agent': userAgent }),
      ...headers,
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const call = open(url, { method: 'POST', agent, ca, headers: authorized }, resolve);
      call.on('timeout', () => call.destroy(new Error('idle timeout')));
      call.on('error', (error) => reject(new InternalApiUnreachable(error.message)));
      send(call);
    });
    if (response.statusCode === 200) return response;
    throw await readError(response);
  }

  protected async post(
    path: string,
    text: string,
    timeoutMs = this.options.timeoutMs,
    traceparent?: string | null,
  ): Promise<unknown> {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      ...(traceparent && { traceparent }),
    };
    let timer: NodeJS.Timeout | undefined;
    try {
      const response = await this.request(path, { agent: this.#agent, headers }, (call) => {
        // AbortSignal.timeout would keep each finished exchange in memory until the timeout.
        timer = setTimeout(() => call.destroy(new Error('timeout')), timeoutMs);
        call.end(text);
      });
      return JSON.parse(await readAll(response)) as unknown;
    } finally {
      clearTimeout(timer);
    }
  }
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) throw new Error('the response is too large');
      chunks.push(chunk);
    }
  } catch (error) {
    throw new InternalApiUnreachable((error as Error).message);
  }
  return Buffer.concat(chunks).toString('utf8');
}

type CallError = InternalApiRefusal | InternalApiUnreachable;

async function readError(response: IncomingMessage, message?: string): Promise<CallError> {
  return toError(response.statusCode ?? 0, parseJson(await readAll(response)), message);
}

/** An answer in HTTP to the request to open the channel. Never rejects. */
async function readOpenError(response: IncomingMessage): Promise<CallError> {
  // An API of an earlier release sends no code with it.
  if (response.statusCode === REFUSALS.unauthorized) return new InternalApiRefusal('unauthorized', null);
  return readError(response, `${response.statusCode}`).catch((error: InternalApiUnreachable) => error);
}

function toError(status: number, body: unknown, message = `the internal API answered ${status}`): CallError {
  const { error, retry_after_ms: retryAfterMs } = (body ?? {}) as {
    error?: unknown;
    retry_after_ms?: number;
  };
  const refusal = isRefusal(error) ? error : undefined;
  if (status >= 400 && status < 500 && refusal) return new InternalApiRefusal(refusal, retryAfterMs ?? null);
  return new InternalApiUnreachable(message, refusal && retryAfterMs);
}

function toChannelError(error: Error): CallError {
  if (!(error instanceof ChannelNotOpen)) return new InternalApiUnreachable(error.message);
  const { cause, message, retryAfterMs } = error;
  return cause instanceof InternalApiRefusal ? cause : new InternalApiUnreachable(message, retryAfterMs);
}

/** Undefined for what is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** File transfers use separate connections, so that they never delay a call. */
const MAX_FILE_TRANSFERS = 2;
/** A transfer without a byte for this long fails. */
const FILE_IDLE_TIMEOUT_MS = 30_000;

export class EngineClient extends InternalClient {
  readonly #channel: CallChannel;
  readonly #files = this.agent({
    keepAlive: true,
    maxSockets: MAX_FILE_TRANSFERS,
    timeout: FILE_IDLE_TIMEOUT_MS,
  });

  constructor(options: InternalClientOptions) {
    super(options);
    const { baseUrl, token, ca } = options;
    const clock = options.clock ?? processClock;
    this.#channel = new CallChannel({
      ...{ baseUrl, token, ca, readRefusal: readOpenError, clock },
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
  }

  override close(): void {
    this.#channel.close();
    this.#files.destroy();
    super.close();
  }

  /**
   * Downloads the prepared file of a claimed message.
   * @throws InternalApiRefusal, InternalApiUnreachable; the stream fails if the connection breaks
   */
  async download(request: MediaDownload): Promise<IncomingMessage> {
    const options = { agent: this.#files, headers: { 'content-type': 'application/json' } };
    const body = JSON.stringify(request);
    return this.request('/engine/media-download', options, (call) => call.end(body));
  }

  /** Uploads a received file. @throws InternalApiRefusal, InternalApiUnreachable */
  async upload(file: Record<string, string>, source: Readable): Promise<MediaUploadResponse> {
    const path = `/engine/media-upload?${new URLSearchParams(file).toString()}`;
    const options = { agent: this.#files, headers: { 'content-type': 'application/octet-stream' } };
    const response = await this.request(path, options, (call) => {
      pipeline(source, call, () => undefined);
    });
    return JSON.parse(await readAll(response)) as MediaUploadResponse;
  }

  /**
   * Small calls go by the channel, and others by HTTP.
   * @throws InternalApiRefusal, InternalApiUnreachable
   */
  async call<R extends EngineRoute>(
    route: R,
    body: EngineRequest<R>,
    timeoutMs = this.options.timeoutMs,
    traceparent?: string | null,
  ): Promise<EngineResponse<R>> {
    const text = JSON.stringify(body);
    if (Buffer.byteLength(text) > MAX_CHANNEL_BODY_BYTES)
      return (await this.post(`/engine/${route}`, text, timeoutMs, traceparent)) as EngineResponse<R>;
    const answer = await this.#channel.call(route, text, { timeoutMs, traceparent }).catch((error: Error) => {
      throw toChannelError(error);
    });
    if (answer.status !== 200) throw toError(answer.status, answer.body);
    return answer.body as EngineResponse<R>;
  }
}

export class OperatorClient extends InternalClient {
  /** @throws InternalApiRefusal, InternalApiUnreachable */
  async call<R extends OperatorRoute>(
    route: R,
    body: OperatorRequest<R>,
    timeoutMs?: number,
  ): Promise<OperatorResponse<R>> {
    return (await this.post(`/operator/${route}`, JSON.stringify(body), timeoutMs)) as OperatorResponse<R>;
  }
}
