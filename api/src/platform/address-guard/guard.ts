import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { PublicAddresses } from './ranges.js';

/**
 * The guard between this service and addresses that strangers name: webhook destinations, media by URL.
 *
 * A URL is judged twice. At registration by what it says (`checkUrl`, no name is resolved: an answer of today
 * proves nothing about tomorrow). At each call by where it leads: `agent` resolves the name itself, refuses it if
 * any of its addresses is forbidden, and connects to exactly the addresses it judged, so a name that changes its
 * answer in between (DNS rebinding) gains nothing. Literals never pass through a look-up, so the connector judges
 * the target again. Redirects are not followed and proxy variables are not read by such an agent.
 */
export interface GuardRules {
  /** Also allow exactly `http://127.0.0.1:PORT/...` (a gateway on one machine). */
  loopback: boolean;
  /** Ranges in CIDR form, forbidden beside all that is not public. */
  forbiddenRanges: readonly string[];
  /** Also plain http (media: much of it is served so), to public addresses as https. */
  plainHttp?: boolean;
}

export type UrlFinding =
  'not-a-url' | 'not-https' | 'user-info' | 'bad-port' | 'name-not-public' | 'address-not-public';

export type UrlVerdict = { ok: true; url: URL } | { ok: false; finding: UrlFinding };

/** The rules of a webhook destination's URL at registration (spec: `invalid-webhook-url`). */
export function checkWebhookUrl(url: string, rules: GuardRules): UrlVerdict {
  return new AddressGuard(rules).checkUrl(url);
}

/** Thrown (as the cause of a failed call) when a name or address is not one that may be called. */
export class ForbiddenAddressError extends Error {
  override name = 'ForbiddenAddressError';
  readonly code = 'GWK_FORBIDDEN_ADDRESS';
}

/** IANA's special-use names, and top levels that exist inside networks only. Each with all names below it. */
const PRIVATE_SUFFIXES = new Set([
  'alt',
  'arpa',
  'corp',
  'example',
  'home',
  'internal',
  'intranet',
  'invalid',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'mail',
  'onion',
  'private',
  'svc',
  'test',
  'workgroup',
]);

const LOOPBACK_FORM = /^http:\/\/127\.0\.0\.1:[1-9]\d{0,4}(?:[/?#]|$)/;
const HTTPS_FORM = /^https:\/\/[^/]/i;
const HTTP_FORM = /^http:\/\/[^/]/i;
/** What URL parsers drop or rewrite in silence: two readers of such a text may see two hosts. */
const AMBIGUOUS = /[\s\\\p{Cc}]/u;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

export class AddressGuard {
  readonly #public: PublicAddresses;
  readonly #loopback: boolean;
  readonly #plainHttp: boolean;

  /** @throws where a forbidden range is not a range */
  constructor(rules: GuardRules) {
    this.#public = new PublicAddresses(rules.forbiddenRanges);
    this.#loopback = rules.loopback;
    this.#plainHttp = rules.plainHttp === true;
  }

  checkUrl(text: string): UrlVerdict {
    if (AMBIGUOUS.test(text) || !URL.canParse(text)) return { ok: false, finding: 'not-a-url' };
    const url = new URL(text);
    if (this.#loopback && LOOPBACK_FORM.test(text)) return { ok: true, url };
    const finding = this.#findFault(text, url);
    return finding ? { ok: false, finding } : { ok: true, url };
  }

  #findFault(text: string, url: URL): UrlFinding | null {
    if (!HTTPS_FORM.test(text) && !(this.#plainHttp && HTTP_FORM.test(text))) return 'not-https';
    if (url.username !== '' || url.password !== '' || authorityOf(text).includes('@')) return 'user-info';
    if (url.port === '0') return 'bad-port';
    const host = bareHost(url.hostname);
    if (isIP(host) !== 0) return this.#public.has(host) ? null : 'address-not-public';
    return isPublicName(host) ? null : 'name-not-public';
  }

  /** Judges what a connection is about to be made to; a name is judged by `judgeAddresses` afterwards. */
  judgeTarget(protocol: string, hostname: string): ForbiddenAddressError | null {
    const host = bareHost(hostname);
    if (this.#loopback && protocol === 'http:' && host === '127.0.0.1') return null;
    if (protocol !== 'https:' && !(this.#plainHttp && protocol === 'http:')) {
      return new ForbiddenAddressError('only https is called');
    }
    if (isIP(host) === 0) {
      return isPublicName(host) ? null : new ForbiddenAddressError('the name is not a public one');
    }
    return this.judgeAddresses([host]);
  }

  /** One forbidden address among several refuses them all: a name that has one is not to be trusted. */
  judgeAddresses(addresses: readonly string[]): ForbiddenAddressError | null {
    if (addresses.every((address) => this.#public.has(address))) return null;
    return new ForbiddenAddressError('the name leads to an address that is not public');
  }
}

function authorityOf(text: string): string {
  return text.slice(text.indexOf('//') + 2).split(/[/?#]/, 1)[0] ?? '';
}

function bareHost(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}

function isPublicName(host: string): boolean {
  const labels = host.split('.');
  if (labels.length < 2 || host.length > 253) return false;
  return labels.every((label) => LABEL.test(label)) && !PRIVATE_SUFFIXES.has(labels.at(-1)!);
}

/** The addresses of a name, all of them, of both families. */
export type Resolve = (hostname: string) => Promise<string[]>;

const DNS_TIMEOUT_MS = 2_500;
const DNS_TRIES = 2;

/**
 * Asks the DNS servers themselves: `dns.lookup` would run in the four threads of the pool, where a few destinations
 * with a dead name server hold up all others; it would read /etc/hosts and try search domains as well.
 */
export function dnsResolve(resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES })): Resolve {
  return async (hostname) => {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const failed = answers.find((answer) => answer.status === 'rejected');
    if (addresses.length === 0) throw failed?.reason ?? new Error('the name has no address');
    return addresses;
  };
}

/** What decides about targets; an AddressGuard, or in tests something that lets a local server be public. */
export type TargetJudge = Pick<AddressGuard, 'judgeTarget' | 'judgeAddresses'>;

/** A look-up for `net.connect`: what it answers is what was judged, and nothing else is connected to. */
export function guardedLookup(judge: TargetJudge, resolve: Resolve = dnsResolve()): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname)
      .then((addresses) => {
        const refusal = judge.judgeAddresses(addresses);
        if (refusal) throw refusal;
        const judged = addresses.map((address) => ({ address, family: isIP(address) }));
        const wanted = options.family === 4 || options.family === 6 ? options.family : 0;
        const usable = judged.filter(({ family }) => wanted === 0 || family === wanted);
        if (usable.length === 0) throw new Error('the name has no address of that family');
        return usable;
      })
      .then(
        (usable) => {
          if (options.all) callback(null, usable);
          else callback(null, usable[0]!.address, usable[0]!.family);
        },
        (error: Error) => callback(error, options.all ? [] : ''),
      );
  };
}

export interface AgentOptions {
  resolve?: Resolve;
  connectTimeoutMs?: number;
  /** Certificate authority (PEM) in place of the system's. */
  ca?: string;
}

/** An HTTP client that reaches public addresses only. The environment can neither route nor weaken it. */
export function guardedAgent(judge: TargetJudge, options: AgentOptions = {}): Agent {
  const connect = buildConnector({
    lookup: guardedLookup(judge, options.resolve),
    timeout: options.connectTimeoutMs ?? 10_000,
    allowH2: false,
    autoSelectFamily: true,
    // Named here so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment changes nothing.
    rejectUnauthorized: true,
    ...(options.ca !== undefined && { ca: options.ca }),
  });
  return new Agent({
    allowH2: false,
    pipelining: 1,
    connections: null,
    // Short: a POST on a connection that the other side has just closed cannot be told from one that it read. And
    // whatever a server hints, a connection does not outlive the name it was made for by much.
    keepAliveTimeout: 1_000,
    keepAliveMaxTimeout: 10_000,
    connect: (target, callback) => {
      const refusal = judge.judgeTarget(target.protocol, target.hostname);
      if (refusal) callback(refusal, null);
      else connect(target, callback);
    },
  });
}
