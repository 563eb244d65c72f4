import { isUtf8 } from 'node:buffer';
import { pipeline, type Duplex, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { cleanFilename } from '@gwk/core/text/filenames';
import { isMachineFault } from '@gwk/core/process/machine-fault';
import { ProxyError } from '@gwk/core/proxy/proxy-error';
import { parse } from 'content-disposition';
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

/** `Accept` of a browser, because some hosts refuse other clients or choose the format by it. */
export const ACCEPT = {
  page: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  picture: 'image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8',
} as const;
const MAX_REDIRECTS = 5;
/** 203: a proxy changed the headers. 206: some hosts send the whole file as one part. */
const SUCCESSES: ReadonlySet<number> = new Set([200, 203, 206]);
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const TEMPORARY: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/**
 * Fetches URLs of consumers. The guard checks every URL, the dispatcher the address of every connection (SSRF), and at most
 * five redirects are followed. The reader of the body limits its size.
 */
export class Fetcher {
  constructor(private readonly options: FetcherOptions) {}

  /** @throws MediaUnavailable; the signal's reason; a fault of this machine */
  async fetch(
    text: string,
    maxBytes: number,
    signal: AbortSignal,
    accepted: string = ACCEPT.page,
  ): Promise<FetchedFile> {
    let url = this.#check(text);
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#get(url, signal, accepted);
      const { statusCode, headers } = answer;
      if (SUCCESSES.has(statusCode)) return accept(answer, url, maxBytes);
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

  async #get(url: URL, signal: AbortSignal, accept: string): Promise<Dispatcher.ResponseData> {
    const { dispatcher, userAgent } = this.options;
    const headers = { 'user-agent': userAgent, accept, 'accept-encoding': 'gzip, deflate, br' };
    try {
      return await request(url, { dispatcher, method: 'GET', headers, signal });
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw isMachineFault(error) ? error : toMediaUnavailable(error);
    }
  }
}

function accept({ statusCode, body, headers }: Dispatcher.ResponseData, url: URL, maxBytes: number) {
  const refuse = (text: string): never => {
    body.on('error', () => undefined).destroy();
    throw new MediaUnavailable(text);
  };
  if (statusCode === 206 && !isWhole(firstValue(headers['content-range'])))
    refuse('the file could not be fetched (the host sent a part of it)');
  if (Number(firstValue(headers['content-length']) ?? 0) > maxBytes) refuse('the file is too large');
  const encodings =
    firstValue(headers['content-encoding'])
      ?.toLowerCase()
      .split(/[\s,]+/) ?? [];
  const decoders = encodings
    .filter((name) => name !== '' && name !== 'identity')
    .map((name) => DECODERS[name]);
  if (decoders.length > MAX_ENCODINGS || decoders.includes(undefined))
    refuse('the file could not be fetched (sent in an unknown encoding)');
  return {
    body: decoders.reduceRight<Readable>(
      (source, decoder) => pipeline(source, decoder!(), () => undefined),
      body,
    ),
    type: firstValue(headers['content-type']),
    name: readDisposition(firstValue(headers['content-disposition'])) ?? readFilename(url),
    url,
  };
}

/** The reader limits the decoded size. A host may have applied several encodings. */
const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};
const MAX_ENCODINGS = 2;

/** Without a range, or with one of an unknown length, the body is taken for whole. */
function isWhole(range: string | null): boolean {
  const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+|\*)$/i.exec(range?.trim() ?? '') ?? [];
  if (first === undefined) return true;
  return first === '0' && (size === '*' || Number(last) === Number(size) - 1);
}

/** Both forms of a name: `filename*` (RFC 8187) wins over `filename`. */
function readDisposition(header: string | null): string | null {
  if (header === null) return null;
  try {
    const { filename } = parse(decodeUtf8(header)).parameters;
    return filename === undefined ? null : cleanFilename(decodePercent(filename));
  } catch {
    return null; // malformed
  }
}

/** Many hosts send UTF-8, which arrives as Latin-1. */
function decodeUtf8(header: string): string {
  const bytes = Buffer.from(header, 'latin1');
  return bytes.toString('latin1') === header && isUtf8(bytes) ? bytes.toString('utf8') : header;
}

/** The last segment of the path. */
function readFilename(url: URL): string | null {
  return cleanFilename(decodePercent(url.pathname.split('/').at(-1) ?? ''));
}

/** Browsers also decode names in `filename`. */
function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a percent sign that encodes nothing
  }
}

function toMediaUnavailable(error: unknown): MediaUnavailable {
  if (readErrorCode(error) === 'GWK_FORBIDDEN_ADDRESS')
    return new MediaUnavailable('the URL is not allowed (address-not-public)');
  const fault = error instanceof ProxyError ? error.message : 'no answer';
  return new MediaUnavailable(`the file could not be fetched (${fault})`, { temporary: true, cause: error });
}

function firstValue(header: string | string[] | undefined): string | null {
  return (Array.isArray(header) ? header[0] : header) ?? null;
}
