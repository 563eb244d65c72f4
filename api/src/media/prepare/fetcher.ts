import type { Readable } from 'node:stream';
import { request, type Dispatcher } from 'undici';
import { readErrorCode, type AddressGuard } from '../../platform/address-guard/guard.js';
import { MediaUnavailable } from './rules.js';

interface FetcherOptions {
  guard: Pick<AddressGuard, 'checkUrl'>;
  /** Guarded dispatcher: checks the address of every connection. */
  dispatcher: Dispatcher;
  userAgent: string;
}

type FetchedFile = ReturnType<typeof accept>;

const MAX_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const TEMPORARY: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/**
 * Fetches URLs of consumers. The guard checks every URL, the dispatcher the address of every connection (SSRF), and at most
 * three redirects are followed. The reader of the body limits its size.
 */
export class Fetcher {
  constructor(private readonly options: FetcherOptions) {}

  /** @throws MediaUnavailable; the signal's reason */
  async fetch(text: string, maxBytes: number, signal: AbortSignal): Promise<FetchedFile> {
    let url = this.#check(text);
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#get(url, signal);
      const { statusCode, headers } = answer;
      if (statusCode === 200) return accept(answer, url, maxBytes);
      // An unread body would keep its connection.
      answer.body.on('error', () => undefined).destroy();
      if (!REDIRECTS.has(statusCode)) {
        throw new MediaUnavailable(`the file could not be fetched (answered ${statusCode})`, {
          temporary: TEMPORARY.has(statusCode),
        });
      }
      const location = firstValue(headers['location']);
      if (redirects === MAX_REDIRECTS || location === null || !URL.canParse(location, url.href)) {
        throw new MediaUnavailable('the file could not be fetched (redirected too often or to nowhere)');
      }
      url = this.#check(new URL(location, url).href);
    }
  }

  #check(text: string): URL {
    const check = this.options.guard.checkUrl(text);
    if (!check.ok) throw new MediaUnavailable(`the URL is not allowed (${check.finding})`);
    return check.url;
  }

  async #get(url: URL, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { dispatcher, userAgent } = this.options;
    // `identity`: a compressed body could expand beyond the limit.
    const headers = { 'user-agent': userAgent, accept: '*/*', 'accept-encoding': 'identity' };
    try {
      return await request(url, { dispatcher, method: 'GET', headers, signal });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw toMediaUnavailable(error);
    }
  }
}

function accept({ body, headers }: Dispatcher.ResponseData, url: URL, maxBytes: number) {
  const refuse = (text: string): never => {
    body.on('error', () => undefined).destroy();
    throw new MediaUnavailable(text);
  };
  const encoding = firstValue(headers['content-encoding']) ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') refuse('the file could not be fetched (sent compressed)');
  if (Number(firstValue(headers['content-length']) ?? 0) > maxBytes) refuse('the file is too large');
  const type = firstValue(headers['content-type']);
  return { body: body as Readable, type, name: readFilename(url), url };
}

/** The last segment of the path. */
function readFilename(url: URL): string | null {
  const last = url.pathname.split('/').at(-1) ?? '';
  try {
    const name = decodeURIComponent(last).replaceAll(/[/\\\p{Cc}]/gu, '');
    return name === '' ? null : name.slice(-255).toWellFormed();
  } catch {
    return null;
  }
}

function toMediaUnavailable(error: unknown): MediaUnavailable {
  if (readErrorCode(error) === 'GWK_FORBIDDEN_ADDRESS')
    return new MediaUnavailable('the URL is not allowed (address-not-public)');
  return new MediaUnavailable('the file could not be fetched (no answer)', { temporary: true, cause: error });
}

function firstValue(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null;
}
