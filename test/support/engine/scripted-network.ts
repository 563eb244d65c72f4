import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Arrival {
  epoch: number;
  wa_message_id: string;
  chat: string;
  body: string;
  /** performance.now() */
  at: number;
}

/** Answers requests that are no stanzas; false for unknown ones. */
export interface Beside {
  serve(request: IncomingMessage, text: string, response: ServerResponse): Promise<boolean>;
}

/**
 * A fake network for the sandbox driver. It records every stanza and answers as scripted. It accepts signals, and
 * no phone event ever happens.
 */
export class ScriptedNetwork {
  readonly arrivals: Arrival[] = [];
  /** Delay before the acknowledgement of a stanza; null for none. */
  answerAfter: (arrival: Arrival) => number | null | Promise<number | null> = () => 0;
  readonly #beside: Beside | undefined;
  readonly #server: Server;

  private constructor(beside: Beside | undefined) {
    this.#beside = beside;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
  }

  static async start(beside?: Beside): Promise<ScriptedNetwork> {
    const network = new ScriptedNetwork(beside);
    network.#server.listen(0, '127.0.0.1');
    await once(network.#server, 'listening');
    return network;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Number of open connections from engines. */
  async connections(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    if (await this.#beside?.serve(request, text, response)) return;
    if (request.url === '/signal') response.end('{}');
    if (request.url !== '/stanza') return;
    const arrival = {
      ...(JSON.parse(text) as Arrival),
      at: performance.now(),
    };
    this.arrivals.push(arrival);
    const after = await this.answerAfter(arrival);
    if (after === null) return;
    setTimeout(() => response.end(JSON.stringify({ ack: true })), after).unref();
  }
}
