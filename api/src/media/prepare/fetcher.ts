import type { Readable } from 'node:stream';
import { request, type Dispatcher } from 'undici';
import type { AddressGuard } from '../../platform/address-guard/guard.js';
import { Unavailable } from './unavailable.js';

/**
 * Fetches what strangers name (design: SSRF): each URL on the way is judged by what it says, each connection by where
 * it leads, and at most three redirects are followed. The body is a stream that its reader bounds.
 */
export interface FetcherOptions {
  guard: Pick<AddressGuard, 'checkUrl'>;
  /** A guarded one: it judges what a connection is made to. */
  dispatcher: Dispatcher;
  userAgent: string;
}

export interface Fetched {
  body: Readable;
  /** As the server calls it. */
  type: string | null;
  /** The last part of the path. */
  name: string | null;
  url: URL;
}

const MAX_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

export class Fetcher {
  constructor(private readonly options: FetcherOptions) {}

  /** @throws Unavailable; the signal's reason */
  async fetch(text: string, maxBytes: number, signal: AbortSignal): Promise<Fetched> {
    let url = this.#judge(text);
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#get(url, signal);
      const { statusCode, headers } = answer;
      if (statusCode === 200) return accept(answer, url, maxBytes);
      // Nothing of it is wanted: leaving it unread would hold its connection.
      answer.body.on('error', () => undefined).destroy();
      if (!REDIRECTS.has(statusCode)) {
        throw new Unavailable(`the file could not be fetched (answered ${statusCode})`, {
          passing: PASSING.has(statusCode),
        });
      }
      const location = one(headers['location']);
      if (redirects === MAX_REDIRECTS || location === null || !URL.canParse(location, url.href)) {
        throw new Unavailable('the file could not be fetched (redirected too often or to nowhere)');
      }
      url = this.#judge(new URL(location, url).href);
    }
  }

  #judge(text: string): URL {
    const verdict = this.options.guard.checkUrl(text);
    if (!verdict.ok) throw new Unavailable(`the URL is not allowed (${verdict.finding})`);
    return verdict.url;
  }

  async #get(url: URL, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { dispatcher, userAgent } = this.options;
    // `identity`: what is compressed could become anything on the way.
    const headers = { 'user-agent': userAgent, accept: '*/*', 'accept-encoding': 'identity' };
    try {
      return await request(url, { dispatcher, method: 'GET', headers, signal });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw failure(error);
    }
  }
}

function accept({ body, headers }: Dispatcher.ResponseData, url: URL, maxBytes: number): Fetched {
  const refuse = (text: string): never => {
    body.on('error', () => undefined).destroy();
    throw new Unavailable(text);
  };
  const encoding = one(headers['content-encoding']) ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') refuse('the file could not be fetched (sent compressed)');
  if (Number(one(headers['content-length']) ?? 0) > maxBytes) refuse('the file is too large');
  return { body, type: one(headers['content-type']), name: nameOf(url), url };
}

function nameOf(url: URL): string | null {
  const last = url.pathname.split('/').at(-1) ?? '';
  try {
    const name = decodeURIComponent(last).replaceAll(/[/\\\p{Cc}]/gu, '');
    return name === '' ? null : name.slice(-255).toWellFormed();
  } catch {
    return null;
  }
}

function failure(error: unknown): Unavailable {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const { code } = (first ?? {}) as { code?: unknown };
  if (code === 'GWK_FORBIDDEN_ADDRESS') return new Unavailable('the URL is not allowed (address-not-public)');
  return new Unavailable('the file could not be fetched (no answer)', { passing: true, cause: error });
}

function one(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null;
}
