import createClient from 'openapi-fetch';
import { ConnectionError, createApiError, GwkError, TimeoutError } from './errors.js';
import type { paths } from './generated/api.js';
import { newUuid } from './uuid.js';
import { planRetry, wait } from './retry.js';
import { readServerSentEvents, type StreamEvent } from './server-sent-events.js';
import type { CallOptions } from './types.js';
import type { SentBody } from './upload.js';

export interface GwkOptions {
  /** Address of the gateway, such as `https://gwk.example.org`. */
  baseUrl: string;
  /** An API key (`gwk_live_...`). The console's cookie session needs none. */
  apiKey?: string;
  /** Default: that of the platform. */
  fetch?: (request: Request) => Promise<Response>;
  /** Attempts after the first one (default 3). */
  retries?: number;
  /** Seconds of the longest Retry-After that the client waits for (default 60). After a longer one it throws at once. */
  maxWait?: number;
  /** Milliseconds for each attempt (default 60,000). Streams and uploads have no limit. */
  timeout?: number;
  /** Language of `message` of errors: `en` (default) or `pt`. */
  language?: 'en' | 'pt';
  /** Waits before a retry. Default: with a timer. */
  wait?: (seconds: number, signal?: AbortSignal) => Promise<void>;
}

/** A request as the table of operations describes it. */
export interface Call extends Partial<SentBody> {
  method: string;
  path: string;
  params: Record<string, string>;
  query?: object;
  isStream?: boolean;
  isUpload?: boolean;
  options: CallOptions;
}

const VISIBLE = /^[\x21-\x7e]+$/;

/** Sends requests and repeats them. */
export class Transport {
  readonly #client;
  readonly #options: GwkOptions;
  readonly wait: NonNullable<GwkOptions['wait']>;

  constructor(options: GwkOptions) {
    this.#options = options;
    this.wait = options.wait ?? wait;
    const { baseUrl, apiKey, language = 'en', fetch } = options;
    // fetch would show the key in its error.
    if (apiKey !== undefined && !VISIBLE.test(apiKey))
      throw new GwkError('The API key has a character that no key has');
    this.#client = createClient<paths>({
      baseUrl,
      ...(fetch && { fetch }),
      // A redirect may turn a POST into a GET, or carry a message to another host.
      redirect: 'error',
      headers: {
        'Accept-Language': language,
        ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }),
      },
    });
  }

  /**
   * Returns the body of the answer.
   * @throws ApiError for an error answer, ConnectionError without one, the reason of an aborted signal
   */
  async send(call: Call): Promise<unknown> {
    const { signal } = call.options;
    const retries = call.isSentOnce ? 0 : (call.options.retries ?? this.#options.retries ?? 3);
    const headers = this.#makeHeaders(call);
    const repeatable = call.method !== 'PATCH';
    const { maxWait } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(call, headers);
      } catch (error) {
        signal?.throwIfAborted();
        const seconds = attempt > retries ? null : planRetry(error, { repeatable, attempt, maxWait });
        if (seconds === null) throw error;
        await this.wait(seconds, signal);
      }
    }
  }

  /** Reads the events of a stream until it ends. @throws as `send`, also when the stream breaks */
  async *stream(call: Call, onOpen?: () => void): AsyncGenerator<StreamEvent> {
    const body = await this.send({ ...call, isStream: true });
    onOpen?.();
    try {
      yield* readServerSentEvents(body as ReadableStream<Uint8Array>);
    } catch (error) {
      call.options.signal?.throwIfAborted();
      throw error;
    }
  }

  #makeHeaders({ method, headers, options }: Call): Record<string, string> {
    const { idempotencyKey, ifMatch, requestId } = options;
    return {
      ...headers,
      ...(method === 'POST' && { 'Idempotency-Key': idempotencyKey ?? newUuid() }),
      ...(ifMatch !== undefined && { 'If-Match': ifMatch }),
      ...(requestId !== undefined && { 'X-Request-ID': requestId }),
    };
  }

  async #attempt(call: Call, headers: Record<string, string>): Promise<unknown> {
    const { signal } = call.options;
    const timeout = this.#findTimeout(call);
    const limit = timeout === undefined ? undefined : AbortSignal.timeout(timeout);
    const signals = [signal, limit].filter((one) => one !== undefined);
    // Outside of the try block: a file that cannot be read is no broken connection.
    const body = await call.body?.();
    try {
      return await this.#fetch(call, { body, headers, signal: AbortSignal.any(signals) });
    } catch (error) {
      if (error instanceof GwkError) throw error;
      if (error instanceof SyntaxError) throw new GwkError('The answer is no JSON', { cause: error });
      signal?.throwIfAborted();
      if (limit?.aborted) throw new TimeoutError(`No answer within ${timeout} ms`, { cause: error });
      throw new ConnectionError('No answer from the gateway', { cause: error });
    }
  }

  #findTimeout({ isStream, isUpload, options: { timeout } }: Call): number | undefined {
    if (isStream) return undefined;
    return timeout ?? (isUpload ? undefined : (this.#options.timeout ?? 60_000));
  }

  async #fetch({ method, path, params, query, isStream }: Call, init: Init): Promise<unknown> {
    const request = {
      ...init,
      params: { path: params, query },
      ...(isForm(init.body) && { bodySerializer: (form: unknown) => form, duplex: 'half' }),
      parseAs: isStream ? 'stream' : 'json',
    };
    // The table of operations comes from the same document as `paths`; their relation is lost here.
    const answer = await this.#client.request(method.toLowerCase() as 'get', path as never, request as never);
    const { data, error, response } = answer as { data?: unknown; error?: unknown; response: Response };
    if (!response.ok) throw createApiError(error, response);
    return data;
  }
}

const isForm = (body: unknown): boolean => body instanceof FormData || body instanceof ReadableStream;

interface Init {
  body: unknown;
  headers: Record<string, string>;
  signal: AbortSignal;
}
