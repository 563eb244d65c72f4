import { API_GROUP, API_VERSION, type InstanceResource } from '@gwk/core/resources/manifest';
import { request, type IncomingMessage } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Address } from '../../cluster/local/address.js';
import { CliError } from './target.js';

export interface InstanceEventView {
  type: string;
  reason: string;
  message: string;
  count: number;
  firstTimestamp: string;
  lastTimestamp: string;
}

interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'ERROR';
  object: InstanceResource;
}

interface InstanceList {
  metadata: { resourceVersion: string };
  items: InstanceResource[];
}

/** An error answer of the server, with its reason. */
export class ServerError extends CliError {
  override name = 'ServerError';
  constructor(
    readonly code: number,
    readonly reason: string,
    message: string,
  ) {
    super(`${reason}: ${message}`);
  }
}

interface Call {
  method: string;
  path: string;
  query?: Record<string, string>;
  body?: string;
  contentType?: string;
}

const FIELD_MANAGER = 'gwk-cli';
const TIMEOUT_MS = 15_000;

/** Client of the Instance resources API for `gwk instances`. */
export class InstancesClient {
  readonly #address: Address;

  constructor(address: Address) {
    this.#address = address;
  }

  list(namespace: string | null, name?: string): Promise<InstanceList> {
    const query: Record<string, string> =
      name === undefined ? {} : { fieldSelector: `metadata.name=${name}` };
    return this.#json({ method: 'GET', path: buildPath(namespace), query });
  }

  get(namespace: string, name: string): Promise<InstanceResource> {
    return this.#json({ method: 'GET', path: buildPath(namespace, name) });
  }

  apply(namespace: string, name: string, manifest: object, force: boolean): Promise<InstanceResource> {
    return this.#json({
      method: 'PATCH',
      path: buildPath(namespace, name),
      query: { fieldManager: FIELD_MANAGER, force: String(force) },
      body: JSON.stringify(manifest),
      contentType: 'application/apply-patch+yaml',
    });
  }

  delete(namespace: string, name: string): Promise<InstanceResource> {
    return this.#json({ method: 'DELETE', path: buildPath(namespace, name) });
  }

  async events(namespace: string, name: string): Promise<InstanceEventView[]> {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`;
    const query = { fieldSelector: `involvedObject.name=${name}` };
    return (await this.#json<{ items: InstanceEventView[] }>({ method: 'GET', path, query })).items;
  }

  /** Ends when the server ends the stream. @throws CliError */
  async *watch(namespace: string | null, version: string, name?: string): AsyncGenerator<WatchEvent> {
    const query = {
      watch: 'true',
      resourceVersion: version,
      ...(name !== undefined && { fieldSelector: `metadata.name=${name}` }),
    };
    const response = await this.#send({ method: 'GET', path: buildPath(namespace), query }, 0);
    let rest = '';
    for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop()!;
      for (const line of lines) if (line !== '') yield JSON.parse(line) as WatchEvent;
    }
  }

  async #json<T>(call: Call): Promise<T> {
    const response = await this.#send(call, TIMEOUT_MS);
    return JSON.parse(await readText(response)) as T;
  }

  /** @throws CliError */
  async #send(call: Call, timeoutMs: number): Promise<IncomingMessage> {
    const response = await this.#open(call, timeoutMs).catch((error: unknown) => {
      throw this.#unreachable(error as NodeJS.ErrnoException);
    });
    const code = response.statusCode ?? 0;
    if (code < 300) return response;
    throw parseServerError(code, await readText(response));
  }

  #open({ method, path, query = {}, body, contentType }: Call, timeoutMs: number): Promise<IncomingMessage> {
    const url = new URL(path, this.#address.url);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const send = url.protocol === 'https:' ? secureRequest : request;
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${this.#address.token}`,
        ...(contentType !== undefined && { 'content-type': contentType }),
      };
      const outgoing = send(url, { method, headers, agent: false, timeout: timeoutMs }, resolve);
      outgoing.once('error', reject);
      outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer in ${timeoutMs / 1000} s`)));
      outgoing.end(body);
    });
  }

  #unreachable(error: NodeJS.ErrnoException): CliError {
    const { url } = this.#address;
    if (error.code !== 'ECONNREFUSED') return new CliError(`${url} is unreachable: ${error.message}`);
    return new CliError(`no answer from ${url}. Is the gateway running (make run)?`);
  }
}

function buildPath(namespace: string | null, name?: string): string {
  const place = namespace === null ? [] : ['namespaces', namespace];
  const parts = [
    'apis',
    API_GROUP,
    API_VERSION,
    ...place,
    'instances',
    ...(name === undefined ? [] : [name]),
  ];
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

const HINTS: Record<string, string> = {
  Unauthorized: "set GWK_CLUSTER_TOKEN to the operator's GWK_OPERATOR_LOCAL_TOKEN",
  Conflict: 'read it again and retry, or take over the fields with --force-conflicts',
};

function parseServerError(code: number, text: string): ServerError {
  try {
    const { reason, message } = JSON.parse(text) as { reason: string; message: string };
    const hint = HINTS[reason];
    return new ServerError(code, reason, hint === undefined ? message : `${message} (${hint})`);
  } catch {
    return new ServerError(code, `HTTP ${code}`, 'the answer is not from the API of Instance resources');
  }
}
