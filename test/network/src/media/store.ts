import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { MEDIA_CERTIFICATE } from './certificate.js';

export interface StoredFile {
  path: string;
  bytes: Buffer;
  uploadedBy: 'client' | 'phone';
}

const LONGEST_UPLOAD = 2_100 * 1024 * 1024;
const PREFIX = '/v/t62/';

/** The media hosts: encrypted files by path, served over TLS. */
export class MediaStore {
  /** Token that a client must send with an upload. */
  readonly auth = randomBytes(24).toString('base64url');
  readonly #files = new Map<string, StoredFile>();
  readonly #gone = new Set<string>();
  readonly #server: Server = createServer(MEDIA_CERTIFICATE, (request, response) => {
    this.#handle(request, response).catch(() => answer(response, 500, { error: 'internal' }));
  });
  #name = '127.0.0.1';
  /** Status codes of the next uploads and downloads. A transfer with 0 breaks off halfway. */
  readonly failures: { upload: number[]; download: number[] } = { upload: [], download: [] };

  /** @param name the name of the hosts that clients learn */
  async listen(host = '127.0.0.1', port = 0, name = host): Promise<this> {
    this.#name = name;
    await new Promise<void>((resolve) => this.#server.listen(port, host, resolve));
    return this;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** `name:port`, as sent to clients. */
  get host(): string {
    return `${this.#name}:${(this.#server.address() as AddressInfo).port}`;
  }

  /** @returns the location of the file */
  put(bytes: Buffer, uploadedBy: StoredFile['uploadedBy']): { directPath: string; url: string } {
    const path = `${PREFIX}${randomBytes(16).toString('hex')}.enc`;
    this.#files.set(path, { path, bytes, uploadedBy });
    const directPath = `${path}?ccb=11-4&oh=${randomBytes(8).toString('hex')}`;
    return { directPath, url: `https://${this.host}${directPath}` };
  }

  get(directPath: string): StoredFile | undefined {
    return this.#files.get(pathOf(directPath));
  }

  /** Deletes a file, as media hosts do after a time. Downloads return 410 from now on. */
  expire(directPath: string): void {
    const path = pathOf(directPath);
    if (this.#files.delete(path)) this.#gone.add(path);
  }

  list(): StoredFile[] {
    return [...this.#files.values()];
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', `https://${this.#name}`);
    if (request.method === 'POST') return this.#upload(request, response, url);
    if (request.method === 'DELETE') return this.#delete(response, url);
    const failure = this.failures.download.shift();
    if (failure) return answer(response, failure, { error: 'failure requested by a test' });
    const file = this.#files.get(url.pathname);
    if (!file) return answer(response, this.#gone.has(url.pathname) ? 410 : 404, { error: 'not here' });
    if (failure === 0) return breakOff(response, file.bytes);
    serve(request, response, file.bytes);
  }

  /** Clients delete the history of a phone after they have read it. */
  #delete(response: ServerResponse, { searchParams: query }: URL): void {
    if (query.get('auth') !== this.auth) return answer(response, 401, { error: 'bad auth' });
    const path = Buffer.from(query.get('d_md') ?? '', 'base64url').toString();
    const file = this.#files.get(path);
    if (!file) return answer(response, 404, { error: 'not here' });
    const hash = createHash('sha256').update(file.bytes).digest('base64url');
    if (plain(query.get('token') ?? '') !== hash) return answer(response, 400, { error: 'bad hash' });
    this.expire(path);
    answer(response, 200, {});
  }

  async #upload(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const bytes = await readAll(request);
    const failure = this.failures.upload.shift();
    if (failure !== undefined) return answer(response, failure, { error: 'failure requested by a test' });
    if (url.searchParams.get('auth') !== this.auth) return answer(response, 401, { error: 'bad auth' });
    // The path of an upload contains the hash of its bytes, in both places.
    const hash = createHash('sha256').update(bytes).digest('base64url');
    const named = [url.pathname.split('/').at(-1), url.searchParams.get('token')];
    if (named.some((name) => plain(name ?? '') !== hash)) return answer(response, 400, { error: 'bad hash' });
    const { directPath, url: address } = this.put(bytes, 'client');
    answer(response, 200, { url: address, direct_path: directPath, handle: hash });
  }
}

const pathOf = (directPath: string): string => directPath.split('?')[0] ?? '';

const plain = (name: string): string => decodeURIComponent(name).replaceAll('=', '');

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function serve(request: IncomingMessage, response: ServerResponse, bytes: Buffer): void {
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const from = Number(range?.[1] ?? 0);
  const to = range?.[2] ? Number(range[2]) + 1 : bytes.length;
  const part = bytes.subarray(from, to);
  const headers = { 'content-type': 'application/octet-stream', 'content-length': part.length };
  response.writeHead(range ? 206 : 200, headers);
  response.end(part);
}

function breakOff(response: ServerResponse, bytes: Buffer): void {
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes.length });
  response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > LONGEST_UPLOAD) throw new Error('the upload is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
