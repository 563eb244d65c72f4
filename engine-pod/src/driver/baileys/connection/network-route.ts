import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request as requestHttps, type Agent as HttpsAgent } from 'node:https';
import { pipeline } from 'node:stream';
import type { ProxyAgents } from '@gwk/core/proxy/agents';

/** A host that sends no byte for 30 s has failed. */
export const IDLE_TIMEOUT_MS = 30_000;
const MAX_REDIRECTS = 5;

interface HttpAnswer {
  ok: boolean;
  status: number;
  /** Its reader handles errors; without a reader they are ignored. */
  body: IncomingMessage;
}

interface HttpRequest {
  headers: OutgoingHttpHeaders;
  signal?: AbortSignal;
  /** File to send. */
  path?: string;
  idleMs: number;
}

/**
 * How an engine reaches the network and its media hosts: directly or through a proxy. It uses node:https, because fetch
 * loads undici (13 MB of memory) and takes no agent.
 */
export class NetworkRoute {
  constructor(private readonly agents: ProxyAgents | null) {
    if (agents) this.#routeFetch();
  }

  /** Agent of the socket to the network. */
  findSocketAgent(url: string | undefined): HttpsAgent | undefined {
    const { http, https } = this.agents ?? {};
    // Node accepts either class for its own protocol; Baileys declares only the second.
    return url?.startsWith('ws:') ? (http as HttpsAgent | undefined) : https;
  }

  /** Requests a file. @throws the error of the connection; ProxyError */
  get(url: string, headers: OutgoingHttpHeaders, signal?: AbortSignal): Promise<HttpAnswer> {
    return this.#follow(url, { headers, idleMs: IDLE_TIMEOUT_MS, ...(signal && { signal }) });
  }

  /** Sends a file. @throws the error of the connection; ProxyError */
  async post(url: string, headers: OutgoingHttpHeaders, path: string, idleMs: number): Promise<HttpAnswer> {
    const { size } = await stat(path);
    return this.#follow(url, { headers: { ...headers, 'content-length': size }, path, idleMs });
  }

  async #follow(url: string, asked: HttpRequest): Promise<HttpAnswer> {
    let at = url;
    for (let redirects = 0; ; redirects++) {
      const body = await this.#request(at, asked);
      const { statusCode: status = 0, headers: answered } = body;
      const isRedirect = status >= 300 && status < 400 && answered.location !== undefined;
      if (!isRedirect || redirects === MAX_REDIRECTS)
        return { ok: status >= 200 && status < 300, status, body };
      body.destroy();
      at = new URL(answered.location!, at).href;
    }
  }

  #request(url: string, { headers, signal, path, idleMs }: HttpRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const agent = this.agents?.https;
      const method = path === undefined ? 'GET' : 'POST';
      const options = { method, headers, ...(signal && { signal }), ...(agent && { agent }) };
      const request = requestHttps(url, options);
      request.setTimeout(idleMs, () => request.destroy(new Error(`no byte within ${idleMs} ms`)));
      request.once('response', (response) => resolve(response.on('error', () => undefined)));
      request.on('error', reject);
      if (path === undefined) request.end();
      else pipeline(createReadStream(path), request, () => undefined);
    });
  }

  /** Baileys downloads the history and long lists of chats by fetch. */
  #routeFetch(): void {
    const builtIn = globalThis.fetch;
    globalThis.fetch = async (input, init) => {
      const isDownload = typeof input === 'string' && input.startsWith('https:') && init?.method === 'GET';
      if (!isDownload) return builtIn(input, init);
      // Baileys reads these three fields only.
      return (await this.get(input, init.headers as OutgoingHttpHeaders)) as unknown as Response;
    };
  }
}
