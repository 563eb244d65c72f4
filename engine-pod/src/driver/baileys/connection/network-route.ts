import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { request as requestHttps, type Agent as HttpsAgent } from 'node:https';
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

  /** Agent of uploads. */
  get uploadAgent(): HttpsAgent | undefined {
    return this.agents?.https;
  }

  /** Requests a file. @throws the error of the connection; ProxyError */
  async get(url: string, headers: OutgoingHttpHeaders, signal?: AbortSignal): Promise<HttpAnswer> {
    let at = url;
    for (let redirects = 0; ; redirects++) {
      const body = await this.#request(at, headers, signal);
      const { statusCode: status = 0, headers: answered } = body;
      const isRedirect = status >= 300 && status < 400 && answered.location !== undefined;
      if (!isRedirect || redirects === MAX_REDIRECTS)
        return { ok: status >= 200 && status < 300, status, body };
      body.destroy();
      at = new URL(answered.location!, at).href;
    }
  }

  #request(url: string, headers: OutgoingHttpHeaders, signal?: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const agent = this.uploadAgent;
      const request = requestHttps(url, { headers, ...(signal && { signal }), ...(agent && { agent }) });
      request.setTimeout(IDLE_TIMEOUT_MS, () => request.destroy(new Error('no byte within 30 s')));
      request.once('response', (response) => resolve(response.on('error', () => undefined)));
      request.on('error', reject);
      request.end();
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
