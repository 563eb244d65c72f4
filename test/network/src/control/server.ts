import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { isIP, type AddressInfo } from 'node:net';
import type { Network } from '../network.js';
import { commands, type CommandName } from './commands.js';

const LONGEST_BODY = 64 * 1024 * 1024;

/**
 * Returns the reason to refuse a request that a web page on this machine may have sent. A page of another origin cannot set
 * this content type, and the Host of a page whose name resolves to this machine is that name, not an address.
 */
export function findRefusal(
  method: string,
  { host, 'content-type': type }: IncomingHttpHeaders,
): string | null {
  if (method !== 'POST') return 'only POST is served';
  const name = URL.parse(`http://${host ?? ''}`)?.hostname.replace(/^\[|\]$/g, '') ?? '';
  if (name !== 'localhost' && isIP(name) === 0) return 'the Host must be localhost or an IP address';
  return type?.split(';', 1)[0]!.trim().toLowerCase() === 'application/json'
    ? null
    : 'the Content-Type must be application/json';
}

/** The control API: `POST /<command>` with a JSON object. */
export class ControlServer {
  readonly #server: Server;

  constructor(network: Network) {
    this.#server = createServer((request, response) => void handle(network, request, response));
    // The client closes the connection. A close by the server could cross the next request.
    this.#server.keepAliveTimeout = 0;
    // Node answers an idle connection with an empty 408 after a minute. The client could take it for the response to a
    // request that is just on its way.
    this.#server.headersTimeout = 0;
    this.#server.requestTimeout = 0;
  }

  async listen(port = 0, host = '127.0.0.1'): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, resolve);
    });
    return `http://${host}:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function handle(network: Network, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const name = (request.url ?? '').slice(1);
  const say = (status: number, body: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? {}));
  };
  const refusal = findRefusal(request.method ?? '', request.headers);
  if (refusal !== null) return say(403, { error: refusal });
  if (!isCommand(name)) {
    return say(404, { error: `no command "${name}", only: ${Object.keys(commands).join(', ')}` });
  }
  try {
    const command = commands[name] as (network: Network, args: unknown) => unknown;
    say(200, await command(network, await readJson(request)));
  } catch (error) {
    const { name: kind, message } = error as Error;
    say(400, { error: message, kind });
  }
}

const isCommand = (name: string): name is CommandName => Object.hasOwn(commands, name);

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LONGEST_BODY) throw new Error('the body is too long');
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? {} : (JSON.parse(text) as unknown);
}
