import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { rootCertificates } from 'node:tls';
import { Proxy, type ProxyConfig } from '@gwk/core/proxy/proxy';
import { Agent, buildConnector } from 'undici';
import { proxyConnector } from '../proxy-connector.js';
import { PublicAddresses } from './ranges.js';

/**
 * Guard against server-side request forgery, for addresses from users: webhook endpoints and media URLs.
 *
 * A URL is checked twice. `checkUrl` checks its text at registration, without resolving the name, because names change. The
 * agent checks each connection: it resolves the name, refuses it if any address is forbidden, and connects only to checked
 * addresses, which defeats DNS rebinding. Address literals skip the lookup, so the connector checks the target too. Such an
 * agent follows no redirects.
 *
 * Through a proxy the agent judges the same names and addresses, but the proxy resolves the name again and connects.
 */
interface GuardRules {
  /** Allow in addition exactly `http://127.0.0.1:PORT/...` (a gateway on one machine). */
  loopback: boolean;
  /** Additional forbidden ranges (CIDR); all non-public ranges are forbidden anyway. */
  forbiddenRanges: readonly string[];
  /** Allow in addition plain http to public addresses (media). */
  plainHttp?: boolean;
}

export type UrlFinding =
  'not-a-url' | 'not-https' | 'user-info' | 'bad-port' | 'name-not-public' | 'address-not-public';

type UrlVerdict = { ok: true; url: URL } | { ok: false; finding: UrlFinding };

/** Rules for the URL of a webhook endpoint at registration (problem `invalid-webhook-url`). */
export function checkWebhookUrl(url: string, rules: GuardRules): UrlVerdict {
  return new AddressGuard(rules).checkUrl(url);
}

/** Cause of a failed call to a forbidden name or address. */
class ForbiddenAddressError extends Error {
  override name = 'ForbiddenAddressError';
  readonly code = 'GWK_FORBIDDEN_ADDRESS';
}

/** IANA's special-use domains and top-level domains of private networks, with all their subdomains. */
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
/** Characters that URL parsers drop or rewrite: two parsers may read different hosts from such a text. */
const AMBIGUOUS = /[\s\\\p{Cc}]/u;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

export class AddressGuard {
  readonly #public: PublicAddresses;
  readonly #loopback: boolean;
  readonly #plainHttp: boolean;

  /** @throws if a forbidden range is not valid CIDR */
  constructor(rules: GuardRules) {
    this.#public = new PublicAddresses(rules.forbiddenRanges);
    this.#loopback = rules.loopback;
    this.#plainHttp = rules.plainHttp === true;
  }

  checkUrl(given: string): UrlVerdict {
    const text = removeTrailingDot(given);
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

  /** Checks the target of a connection; `judgeAddresses` checks the addresses of a name afterwards. */
  judgeTarget(protocol: string, hostname: string): ForbiddenAddressError | null {
    const host = bareHost(hostname);
    if (this.#loopback && protocol === 'http:' && host === '127.0.0.1') return null;
    if (protocol !== 'https:' && !(this.#plainHttp && protocol === 'http:')) {
      return new ForbiddenAddressError('only https is allowed');
    }
    if (isIP(host) === 0) {
      return isPublicName(host) ? null : new ForbiddenAddressError('the name is not public');
    }
    return this.judgeAddresses([host]);
  }

  /** Refuses a name if any of its addresses is forbidden. */
  judgeAddresses(addresses: readonly string[]): ForbiddenAddressError | null {
    if (addresses.every((address) => this.#public.has(address))) return null;
    return new ForbiddenAddressError('the name leads to an address that is not public');
  }
}

/** `example.com.` is `example.com`. Certificates name hosts without the dot. */
export const removeTrailingDot = (url: string): string =>
  url.replace(/^(https?:\/\/)([^/?#@[\]:]+)\.(?=[/?#:]|$)/i, (whole, scheme: string, host: string) =>
    isIP(host) === 0 ? scheme + host : whole,
  );

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

/** Resolves all IPv4 and IPv6 addresses of a name. */
export type Resolve = (hostname: string) => Promise<string[]>;

const DNS_TIMEOUT_MS = 2_500;
const DNS_TRIES = 2;

/**
 * Queries the DNS servers directly. `dns.lookup` uses the thread pool (4 threads), which a few endpoints with unresponsive
 * name servers would block; it also reads /etc/hosts and tries search domains.
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

/** Decides about targets: an AddressGuard, or in tests one that allows a local server. */
type TargetJudge = Pick<AddressGuard, 'judgeTarget' | 'judgeAddresses'>;

/** A lookup for `net.connect` that returns checked addresses only. */
function guardedLookup(judge: TargetJudge, resolve: Resolve = dnsResolve()): LookupFunction {
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

/** Certificate authority (PEM) beside the public ones, for some hosts only: it could otherwise impersonate any host. */
export interface PrivateCa {
  ca: string;
  /** Names in lower case. A name covers its subdomains. */
  hosts: readonly string[];
}

export interface AgentOptions {
  resolve?: Resolve;
  connectTimeoutMs?: number;
  /** Certificate authority (PEM) instead of the system's. */
  ca?: string;
  privateCa?: PrivateCa | undefined;
  proxy?: GuardedProxy | null;
}

/** Connects to targets in place of the agent, which judges them before. */
export interface GuardedProxy {
  proxy: Proxy;
  /**
   * Passes names that cannot be resolved here to the proxy. The proxy resolves names itself in any case, so only the proxy
   * can prevent that a name leads it to a private address.
   */
  trustsNames: boolean;
}

/** Null: the worker connects directly. */
export function readGuardedProxy(
  config: ProxyConfig & { proxyNames: 'resolve' | 'trust' },
): GuardedProxy | null {
  const proxy = Proxy.fromConfig(config);
  return proxy && { proxy, trustsNames: config.proxyNames === 'trust' };
}

function chooseAuthority(
  { ca, privateCa }: AgentOptions,
  connectWith: (ca: string | string[] | undefined) => buildConnector.connector,
): buildConnector.connector {
  const usual = connectWith(ca);
  if (!privateCa) return usual;
  const trusting = connectWith([...rootCertificates, privateCa.ca]);
  const isListed = (name: string) =>
    privateCa.hosts.some((host) => name === host || name.endsWith(`.${host}`));
  return (target, callback) => (isListed(target.hostname) ? trusting : usual)(target, callback);
}

function chooseConnector(judge: TargetJudge, options: AgentOptions): buildConnector.connector {
  const connectWith = (ca: string | string[] | undefined) =>
    buildConnector({
      lookup: guardedLookup(judge, options.resolve),
      timeout: options.connectTimeoutMs ?? 10_000,
      allowH2: false,
      autoSelectFamily: true,
      // Set explicitly, so that NODE_TLS_REJECT_UNAUTHORIZED=0 has no effect.
      rejectUnauthorized: true,
      ...(ca !== undefined && { ca }),
    });
  const connect = chooseAuthority(options, connectWith);
  if (!options.proxy) return connect;
  const { proxy, trustsNames } = options.proxy;
  const resolve = options.resolve ?? dnsResolve();
  return proxyConnector({
    proxy,
    connect,
    judge: async (hostname) => {
      if (isIP(hostname) !== 0) return;
      const addresses = await resolve(hostname).catch((error: unknown) => {
        if (trustsNames) return [];
        throw error;
      });
      const refusal = judge.judgeAddresses(addresses);
      if (refusal) throw refusal;
    },
  });
}

/** Creates an HTTP client that reaches public addresses only. */
export function guardedAgent(judge: TargetJudge, options: AgentOptions = {}): Agent {
  const connect = chooseConnector(judge, options);
  return new Agent({
    allowH2: false,
    pipelining: 1,
    connections: null,
    // Short: if the server closes a reused connection during a POST, the client cannot know whether it read the request.
    // It also bounds for how long a connection outlives a change of its name.
    keepAliveTimeout: 1_000,
    keepAliveMaxTimeout: 10_000,
    connect: (target, callback) => {
      const refusal = judge.judgeTarget(target.protocol, target.hostname);
      if (refusal) callback(refusal, null);
      else
        connect(target, (...result) => {
          if (result[1]) ignoreInterim(result[1]);
          callback(...result);
        });
    },
  });
}

const INTERIM = /HTTP\/1\.1 1(?!01)\d\d[^\n]*\n(?:[^\r\n][^\n]*\n)*\r?\n/y;
/** For one request. A server that sends more could otherwise keep the event loop busy until the timeout. */
const MAX_INTERIM = 10;
const MAX_INTERIM_BYTES = 16_384;

/**
 * Removes interim answers (1xx) in front of an answer. Some servers send `100 Continue` without being asked, also after a
 * `103`. RFC 9110 lets a client ignore them; undici closes the connection at a 100.
 */
function ignoreInterim(socket: Socket): void {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  const write = socket.write.bind(socket) as (...request: unknown[]) => boolean;
  let left = MAX_INTERIM;
  socket.write = (...request: unknown[]) => {
    left = MAX_INTERIM;
    return write(...request);
  };
  socket.read = (size) => {
    const chunk = read(size);
    if (left === 0 || chunk === null) return chunk;
    const text = chunk.toString('latin1', 0, MAX_INTERIM_BYTES);
    let end = 0;
    for (INTERIM.lastIndex = 0; left > 0 && INTERIM.test(text); left--) end = INTERIM.lastIndex;
    if (end === chunk.length) return null;
    left = 0;
    return chunk.subarray(end);
  };
}

/** Reads the first code of a failed connection: an AggregateError has one error for each address family. */
export function readErrorCode(cause: unknown): string {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  const { code } = (first ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
