import {
  createConfiguration,
  KubeConfig,
  PatchStrategy,
  ResponseContext,
  SelfDecodingBody,
  ServerConfiguration,
  setHeaderOptions,
  wrapHttpLibrary,
  type ApiConstructor,
  type ApiType,
  type RequestContext,
} from '@kubernetes/client-node';
import { request as send, type Dispatcher } from 'undici';
import { API_GROUP, API_VERSION } from '../resources/manifest.js';

/** Address of Instances in calls of custom resources. */
export const INSTANCES = { group: API_GROUP, version: API_VERSION, plural: 'instances' } as const;

/** Options of the typed patches. */
export const PATCH = {
  apply: setHeaderOptions('Content-Type', PatchStrategy.ServerSideApply),
  json: setHeaderOptions('Content-Type', PatchStrategy.JsonPatch),
  merge: setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
};

interface KubeClientOptions {
  /** By default from KUBECONFIG, else the service account of the pod, else kubectl's default configuration. */
  kube?: KubeConfig | undefined;
  /** Instead of the current context. */
  context?: string | undefined;
  /** Bearer token, called for each request. By default of the configuration. */
  token?: () => string;
  timeoutMs?: number;
  /** For metrics. `code` 0: no answer. */
  onCall?: (verb: string, resource: string, code: number) => void;
}

const TIMEOUT_MS = 10_000;
/** Replace the dispatcher after this time, to use changed certificates. */
const DISPATCHER_AGE_MS = 600_000;

/**
 * client-node's configuration, with pooled connections, timeouts and counted calls. client-node 2.0.1 itself creates
 * a dispatcher, and so a connection, for each call.
 *
 * The workspaces that import this file list both packages. core does not, so that engines do not contain them.
 */
export class KubeClient extends KubeConfig {
  readonly #options: KubeClientOptions;
  #pool: { dispatcher: Dispatcher | undefined; madeAt: number } | null = null;

  constructor(options: KubeClientOptions = {}) {
    super();
    this.#options = options;
    const { KUBECONFIG, KUBERNETES_SERVICE_HOST } = process.env;
    if (options.kube) this.loadFromOptions(options.kube);
    else if (KUBECONFIG === undefined && KUBERNETES_SERVICE_HOST !== undefined) this.loadFromCluster();
    else this.loadFromDefault();
    if (options.context !== undefined) this.setCurrentContext(options.context);
    if (!this.getCurrentCluster())
      throw new Error(`no context ${this.getCurrentContext()} in the kubeconfig`);
  }

  /** Namespace of the service account or of the context. */
  get namespace(): string {
    return this.getContextObject(this.getCurrentContext())?.namespace ?? 'default';
  }

  /**
   * Calls of this API throw a KubeError with the server's answer, or with code 0 if none arrived: then the call may
   * have taken effect.
   */
  override makeApiClient<T extends ApiType>(
    type: ApiConstructor<T>,
    timeoutMs = this.#options.timeoutMs ?? TIMEOUT_MS,
  ): T {
    const configuration = createConfiguration({
      baseServer: new ServerConfiguration(this.getCurrentCluster()!.server, {}),
      authMethods: { default: this },
      httpApi: wrapHttpLibrary({ send: (request) => this.#call(request, timeoutMs) }),
    });
    return new type(configuration);
  }

  /** client-node's Watch calls this too. */
  override async applySecurityAuthentication(request: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(request);
    const now = Date.now();
    if (!this.#pool || now - this.#pool.madeAt >= DISPATCHER_AGE_MS) {
      // Watches on the previous dispatcher end by themselves, and close() waits for them.
      void this.#pool?.dispatcher?.close();
      this.#pool = { dispatcher: request.getDispatcher(), madeAt: now };
    }
    if (this.#pool.dispatcher) request.setDispatcher(this.#pool.dispatcher);
    const { token } = this.#options;
    if (token) request.setHeaderParam('Authorization', `Bearer ${token()}`);
  }

  count(verb: string, path: string, code: number): void {
    this.#options.onCall?.(verb, parseResource(path), code);
  }

  async close(): Promise<void> {
    await this.#pool?.dispatcher?.destroy();
    this.#pool = null;
  }

  async #call(request: RequestContext, timeoutMs: number): Promise<ResponseContext> {
    // Not AbortSignal.timeout, which keeps every request in memory until its timeout.
    const timeout = new AbortController();
    const timer = setTimeout(
      () => timeout.abort(new DOMException('no answer in time', 'TimeoutError')),
      timeoutMs,
    );
    const [url, method] = [request.getUrl(), request.getHttpMethod()];
    const [body, dispatcher] = [request.getBody() as string | undefined, request.getDispatcher()];
    try {
      const answer = await send(url, {
        method,
        signal: timeout.signal,
        headers: request.getHeaders(),
        ...(dispatcher && { dispatcher }),
        ...(body !== undefined && { body }),
      });
      const text = await answer.body.text();
      this.count(method, new URL(url).pathname, answer.statusCode);
      if (answer.statusCode >= 300) throw parseError(answer.statusCode, text);
      const [type, bytes] = [{ 'content-type': 'application/json' }, Promise.resolve(Buffer.from(text))];
      return new ResponseContext(answer.statusCode, type, new SelfDecodingBody(bytes));
    } catch (error) {
      if (error instanceof KubeError) throw error;
      this.count(method, new URL(url).pathname, 0);
      throw new KubeError(0, 'NoAnswer', (error as Error).name, error);
    } finally {
      clearTimeout(timer);
    }
  }
}

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

/**
 * Whether the server says that the object does not exist. A server that does not serve the version answers with the
 * same code, but without a reason.
 */
export const isNotFound = (error: unknown): boolean =>
  isCode(error, 404) && (error as KubeError).reason === 'NotFound';

/** Null: the object does not exist. */
export async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (isCode(error, 404)) return null;
    throw error;
  }
}

const ANONYMOUS = '"system:anonymous"';
/** client-node ignores other fields of a user, such as tokenFile. */
const NO_CREDENTIALS =
  'The kubeconfig has no credentials that gwk reads: token, client certificate, exec or auth-provider (not tokenFile)';

/** A body that is not a Status (a proxy's page, plain text) leaves only the code. */
export function parseError(code: number, text: string): KubeError {
  try {
    const { reason = 'Unknown', message = '' } = JSON.parse(text) as { reason?: string; message?: string };
    return new KubeError(
      code,
      reason,
      message.includes(ANONYMOUS) ? `${message}. ${NO_CREDENTIALS}` : message,
    );
  } catch {
    return new KubeError(code, 'Unknown', text.slice(0, 200));
  }
}

/**
 * `instances/status` of /apis/gwk.dev/v1/namespaces/shops/instances/first/status, so that metrics contain no
 * names.
 */
function parseResource(path: string): string {
  const parts = path.split('/').slice(path.startsWith('/apis/') ? 4 : 3);
  const [first = '', , third, , fifth] = parts;
  const namespaced = first === 'namespaces' && third !== undefined;
  const sub = namespaced ? fifth : third;
  return `${namespaced ? third : first}${sub === undefined ? '' : `/${sub}`}`;
}
