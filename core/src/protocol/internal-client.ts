import type {
  Agent as HttpAgent,
  AgentOptions,
  ClientRequest,
  IncomingMessage,
  OutgoingHttpHeaders,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pipeline, type Readable } from 'node:stream';
import { http } from '../node-http.js';
import type {
  EngineRequest,
  EngineResponse,
  EngineRoute,
  MediaDownload,
  MediaUploadResponse,
} from './engine.js';
import type { OperatorRequest, OperatorResponse, OperatorRoute } from './operator.js';
import { isRefusal, type Refusal } from './refusals.js';

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

/** There was no response, so whether the call took effect is unknown. */
export class InternalApiUnreachable extends Error {
  override name = 'InternalApiUnreachable';
}

interface InternalClientOptions {
  baseUrl: string;
  token: string;
  /** PEM of the only trusted certificate authority, if the API uses TLS. */
  ca?: string | undefined;
  timeoutMs: number;
}

interface CallOptions {
  /** Default: the timeout of the client. */
  timeoutMs?: number | undefined;
  /** W3C trace context of the calling span. */
  traceparent?: string | null;
}

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

class InternalClient {
  readonly #options: InternalClientOptions;
  readonly #agent: HttpAgent;

  constructor(options: InternalClientOptions) {
    this.#options = options;
    this.#agent = this.agent({ keepAlive: true, maxSockets: 8 });
  }

  protected agent(settings: AgentOptions): HttpAgent {
    return this.#options.baseUrl.startsWith('https:') ? new HttpsAgent(settings) : new http.Agent(settings);
  }

  protected request(
    path: string,
    { agent, headers }: { agent: HttpAgent; headers: OutgoingHttpHeaders },
    onResponse: (response: IncomingMessage) => void,
  ): ClientRequest {
    const { baseUrl, ca, token } = this.#options;
    const url = new URL(path, baseUrl);
    const send = url.protocol === 'https:' ? httpsRequest : http.request;
    const authorized = { authorization: `Bearer ${token}`, ...headers };
    return send(url, { method: 'POST', agent, ca, headers: authorized }, onResponse);
  }

  close(): void {
    this.#agent.destroy();
  }

  protected async post(path: string, body: unknown, call: CallOptions = {}): Promise<unknown> {
    const { status, text } = await this.#exchange(path, JSON.stringify(body), call);
    if (status === 200) return JSON.parse(text) as unknown;
    throw toError(status, text);
  }

  #exchange(
    path: string,
    body: string,
    { timeoutMs = this.#options.timeoutMs, traceparent }: CallOptions,
  ): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      // AbortSignal.timeout would keep each finished exchange in memory until the timeout.
      const timer = setTimeout(() => request.destroy(new Error('timeout')), timeoutMs);
      const fail = (error: Error): void => {
        clearTimeout(timer);
        reject(new InternalApiUnreachable(error.message));
      };
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...(traceparent && { traceparent }),
      };
      const request = this.request(path, { agent: this.#agent, headers }, (response) => {
        readAll(response).then((text) => {
          clearTimeout(timer);
          resolve({ status: response.statusCode ?? 0, text });
        }, fail);
      });
      request.on('error', fail);
      request.end(body);
    });
  }
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error('the response is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function toError(status: number, text: string): InternalApiRefusal | InternalApiUnreachable {
  const answer = parseRefusal(text);
  if (status >= 400 && status < 500 && answer)
    return new InternalApiRefusal(answer.error, answer.retryAfterMs);
  return new InternalApiUnreachable(`the internal API answered ${status}`);
}

function parseRefusal(text: string): { error: Refusal; retryAfterMs: number | null } | null {
  try {
    const { error, retry_after_ms } = JSON.parse(text) as { error?: unknown; retry_after_ms?: number };
    return isRefusal(error) ? { error, retryAfterMs: retry_after_ms ?? null } : null;
  } catch {
    return null;
  }
}

/** File transfers use separate connections, so that they never delay a call. */
const MAX_FILE_TRANSFERS = 2;
/** A transfer without a byte for this long fails. */
const FILE_IDLE_TIMEOUT_MS = 30_000;

export class EngineClient extends InternalClient {
  /**
   * Downloads the prepared file of a claimed message.
   * @throws InternalApiRefusal, InternalApiUnreachable; the stream fails if the connection breaks
   */
  async download(request: MediaDownload): Promise<IncomingMessage> {
    const body = JSON.stringify(request);
    return this.#file('/engine/media-download', { 'content-type': 'application/json' }, (call) =>
      call.end(body),
    );
  }

  /** Uploads a received file. @throws InternalApiRefusal, InternalApiUnreachable */
  async upload(file: Record<string, string>, source: Readable): Promise<MediaUploadResponse> {
    const path = `/engine/media-upload?${new URLSearchParams(file).toString()}`;
    const response = await this.#file(path, { 'content-type': 'application/octet-stream' }, (call) => {
      pipeline(source, call, () => undefined);
    });
    return JSON.parse(await readAll(response)) as MediaUploadResponse;
  }

  override close(): void {
    this.#files.destroy();
    super.close();
  }

  readonly #files = this.agent({
    keepAlive: true,
    maxSockets: MAX_FILE_TRANSFERS,
    timeout: FILE_IDLE_TIMEOUT_MS,
  });

  #file(
    path: string,
    headers: Record<string, string>,
    send: (call: ClientRequest) => void,
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => reject(new InternalApiUnreachable(error.message));
      const call = this.request(path, { agent: this.#files, headers }, (response) => {
        if (response.statusCode === 200) return resolve(response);
        readAll(response).then((text) => reject(toError(response.statusCode ?? 0, text)), fail);
      });
      call.on('timeout', () => call.destroy(new Error('idle timeout')));
      call.on('error', fail);
      send(call);
    });
  }

  /** @throws InternalApiRefusal, InternalApiUnreachable */
  async call<R extends EngineRoute>(
    route: R,
    body: EngineRequest<R>,
    timeoutMs?: number,
    traceparent?: string | null,
  ): Promise<EngineResponse<R>> {
    const options = { timeoutMs, ...(traceparent && { traceparent }) };
    return (await this.post(`/engine/${route}`, body, options)) as EngineResponse<R>;
  }
}

export class OperatorClient extends InternalClient {
  /** @throws InternalApiRefusal, InternalApiUnreachable */
  async call<R extends OperatorRoute>(
    route: R,
    body: OperatorRequest<R>,
    timeoutMs?: number,
  ): Promise<OperatorResponse<R>> {
    return (await this.post(`/operator/${route}`, body, { timeoutMs })) as OperatorResponse<R>;
  }
}
