import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { EngineRequest, EngineResponse, EngineRoute, Refusal } from './engine.js';
import type { OperatorRequest, OperatorResponse, OperatorRoute } from './operator.js';

/**
 * The client side of the internal port, for engines and the operator. Plain node:http(s) and types only: an engine
 * must stay small, so neither zod nor fetch is loaded for it.
 */
export class InternalRefusal extends Error {
  override name = 'InternalRefusal';
  constructor(
    readonly refusal: Refusal,
    readonly retryAfterMs: number | null,
  ) {
    super(`the internal port refused: ${refusal}`);
  }
}

/** No answer was had: whether the call took effect is unknown. */
export class InternalUnreachable extends Error {
  override name = 'InternalUnreachable';
}

export interface InternalClientOptions {
  baseUrl: string;
  token: string;
  /** PEM of the certificate authority to pin, where the port speaks TLS. */
  ca?: string | undefined;
  timeoutMs: number;
}

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

class InternalClient {
  readonly #options: InternalClientOptions;
  readonly #agent: HttpAgent;

  constructor(options: InternalClientOptions) {
    this.#options = options;
    const settings = { keepAlive: true, maxSockets: 8 };
    this.#agent = options.baseUrl.startsWith('https:') ? new HttpsAgent(settings) : new HttpAgent(settings);
  }

  close(): void {
    this.#agent.destroy();
  }

  protected async post(path: string, body: unknown, timeoutMs = this.#options.timeoutMs): Promise<unknown> {
    const { status, text } = await this.#exchange(path, JSON.stringify(body), timeoutMs);
    if (status === 200) return JSON.parse(text) as unknown;
    const answer = parseRefusal(text);
    if (status >= 400 && status < 500 && answer) throw new InternalRefusal(answer.error, answer.retryAfterMs);
    throw new InternalUnreachable(`the internal port answered ${status}`);
  }

  #exchange(path: string, body: string, timeoutMs: number): Promise<{ status: number; text: string }> {
    const url = new URL(path, this.#options.baseUrl);
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      // Not AbortSignal.timeout: it would keep every exchange in memory until its time is over.
      const timer = setTimeout(() => request.destroy(new Error('no answer in time')), timeoutMs);
      const fail = (error: Error): void => {
        clearTimeout(timer);
        reject(new InternalUnreachable(error.message));
      };
      const request = send(
        url,
        {
          method: 'POST',
          agent: this.#agent,
          ca: this.#options.ca,
          headers: {
            authorization: `Bearer ${this.#options.token}`,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          },
        },
        (response) => {
          readAll(response).then((text) => {
            clearTimeout(timer);
            resolve({ status: response.statusCode ?? 0, text });
          }, fail);
        },
      );
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
    if (size > MAX_ANSWER_BYTES) throw new Error('the answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseRefusal(text: string): { error: Refusal; retryAfterMs: number | null } | null {
  try {
    const { error, retry_after_ms } = JSON.parse(text) as { error?: Refusal; retry_after_ms?: number };
    return error === undefined ? null : { error, retryAfterMs: retry_after_ms ?? null };
  } catch {
    return null;
  }
}

export class EngineClient extends InternalClient {
  /** @throws InternalRefusal, InternalUnreachable */
  async call<R extends EngineRoute>(
    route: R,
    body: EngineRequest<R>,
    timeoutMs?: number,
  ): Promise<EngineResponse<R>> {
    return (await this.post(`/engine/${route}`, body, timeoutMs)) as EngineResponse<R>;
  }
}

export class OperatorClient extends InternalClient {
  /** @throws InternalRefusal, InternalUnreachable */
  async call<R extends OperatorRoute>(
    route: R,
    body: OperatorRequest<R>,
    timeoutMs?: number,
  ): Promise<OperatorResponse<R>> {
    return (await this.post(`/operator/${route}`, body, timeoutMs)) as OperatorResponse<R>;
  }
}
