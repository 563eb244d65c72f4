import { request, type Dispatcher } from 'undici';

/** Address and credentials of a Kubernetes API. */
export interface KubeAccess {
  server: string;
  /** Namespace of the service account or of the kubeconfig context; null if neither names one. */
  namespace: string | null;
  /** Headers of one request. */
  headers(): Promise<Record<string, string>>;
  /** Creates a dispatcher; undefined means the global one. */
  dispatcher(): Promise<Dispatcher | undefined>;
}

/**
 * One call of the Kubernetes API, as plain JSON. The operator does not use the typed calls of client-node 2.0.1,
 * which open a connection per call and copy every object field by field.
 */
export interface KubeCall {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  type?: string;
  timeoutMs?: number;
}

export const PATCH_TYPES = {
  apply: 'application/apply-patch+yaml',
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
} as const;

interface KubeClientOptions {
  timeoutMs?: number;
  /** For metrics. `code` 0: no answer. */
  onCall?: (verb: string, resource: string, code: number) => void;
}

const TIMEOUT_MS = 10_000;
/** Recreate the dispatcher after this time, to read a changed certificate authority. */
const DISPATCHER_AGE_MS = 600_000;

export class KubeClient {
  readonly #access: KubeAccess;
  readonly #options: KubeClientOptions;
  #pool: { dispatcher: Dispatcher | undefined; madeAt: number } | null = null;

  constructor(access: KubeAccess, options: KubeClientOptions = {}) {
    this.#access = access;
    this.#options = options;
  }

  /** @throws KubeError with the server's answer, or with code 0 if none arrived: the call may have taken effect */
  async call<T>(call: KubeCall): Promise<T> {
    // Not AbortSignal.timeout, which keeps every request in memory until its timeout.
    const timeout = new AbortController();
    const ms = call.timeoutMs ?? this.#options.timeoutMs ?? TIMEOUT_MS;
    const timer = setTimeout(() => timeout.abort(new DOMException('no answer in time', 'TimeoutError')), ms);
    try {
      const { statusCode, body } = await this.#send(call, timeout.signal);
      const text = await body.text();
      this.#count(call, statusCode);
      if (!isOk(statusCode)) throw parseError(statusCode, text);
      return JSON.parse(text) as T;
    } catch (error) {
      if (error instanceof KubeError) throw error;
      this.#count(call, 0);
      throw new KubeError(0, 'NoAnswer', (error as Error).name, error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Yields lines until the server ends the stream, the stream breaks, or `signal` aborts. */
  async *lines(call: KubeCall, signal: AbortSignal): AsyncGenerator<string> {
    const { statusCode, body } = await this.#send(call, signal);
    this.#count(call, statusCode);
    if (!isOk(statusCode)) throw parseError(statusCode, await body.text());
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = parts.pop()!;
      for (const line of parts) if (line !== '') yield line;
    }
  }

  async close(): Promise<void> {
    await this.#pool?.dispatcher?.destroy();
    this.#pool = null;
  }

  async #send(call: KubeCall, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const url = new URL(this.#access.server + call.path);
    for (const [name, value] of Object.entries(call.query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const headers = await this.#access.headers();
    const dispatcher = await this.#pooled();
    return request(url, {
      method: call.method ?? 'GET',
      signal,
      // A watch is silent while nothing changes, so the caller sets the timeout.
      headersTimeout: 0,
      bodyTimeout: 0,
      ...(dispatcher && { dispatcher }),
      headers: {
        ...headers,
        accept: 'application/json',
        ...(call.body !== undefined && { 'content-type': call.type ?? 'application/json' }),
      },
      ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
    });
  }

  async #pooled(): Promise<Dispatcher | undefined> {
    const now = Date.now();
    if (this.#pool && now - this.#pool.madeAt < DISPATCHER_AGE_MS) return this.#pool.dispatcher;
    const dispatcher = await this.#access.dispatcher();
    // Watches on the previous dispatcher end by themselves, and close() waits for them.
    void this.#pool?.dispatcher?.close();
    this.#pool = { dispatcher, madeAt: now };
    return dispatcher;
  }

  #count({ method = 'GET', path, query }: KubeCall, code: number): void {
    const verb = query?.['watch'] ? 'WATCH' : method;
    this.#options.onCall?.(verb, parseResource(path), code);
  }
}

const isOk = (code: number): boolean => code >= 200 && code < 300;

/** `reason` is the server's reason (NotFound, AlreadyExists, Conflict, Expired, ...). */
export class KubeError extends Error {
  override name = 'KubeError';
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
    cause?: unknown,
  ) {
    super(`${code} ${reason}: ${message}`, { cause });
  }
}

export const isCode = (error: unknown, ...codes: number[]): boolean =>
  error instanceof KubeError && codes.includes(error.code);

/** A body that is not a Status (a proxy's page, plain text) leaves only the code. */
function parseError(code: number, text: string): KubeError {
  try {
    const status = JSON.parse(text) as { reason?: string; message?: string };
    return new KubeError(code, status.reason ?? 'Unknown', status.message ?? '');
  } catch {
    return new KubeError(code, 'Unknown', text.slice(0, 200));
  }
}

/**
 * `instances/status` of /apis/gwk.dev/v1alpha1/namespaces/shops/instances/first/status, so that metrics contain no
 * names.
 */
function parseResource(path: string): string {
  const parts = path.split('/').slice(path.startsWith('/apis/') ? 4 : 3);
  const [first = '', , third, , fifth] = parts;
  const namespaced = first === 'namespaces' && third !== undefined;
  const sub = namespaced ? fifth : third;
  return `${namespaced ? third : first}${sub === undefined ? '' : `/${sub}`}`;
}
