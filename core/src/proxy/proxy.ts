import type { Socket } from 'node:net';
import { findFault, type ProxyAccess, type Target } from './access.js';
import { parseDirectHosts, type IsDirect } from './direct-hosts.js';
import { openHttpTunnel } from './http-tunnel.js';
import { ProxyError } from './proxy-error.js';

export interface ProxyConfig {
  proxyUrl: () => string | undefined;
  proxyCa: string | undefined;
  noProxy: string | undefined;
  standardProxyUrl: string | undefined;
  standardNoProxy: string | undefined;
}

/**
 * Opens connections through a proxy. Names go to the proxy unresolved, because clusters behind a proxy often have no
 * external DNS. Connections inside the cluster (Postgres, Redis, internal API, Kubernetes) do not use this class.
 */
export class Proxy {
  readonly isDirect: IsDirect;
  readonly #readUrl: () => string;
  readonly #ca: string | undefined;

  private constructor(readUrl: () => string, config: ProxyConfig) {
    this.#readUrl = readUrl;
    this.#ca = config.proxyCa;
    this.isDirect = parseDirectHosts(config.noProxy ?? config.standardNoProxy);
  }

  /** Null: no proxy is configured. */
  static fromConfig(config: ProxyConfig): Proxy | null {
    const { proxyUrl, standardProxyUrl } = config;
    const first = proxyUrl() ?? standardProxyUrl;
    return first === undefined ? null : new Proxy(() => proxyUrl() ?? standardProxyUrl ?? first, config);
  }

  /**
   * Opens a TCP connection to the target. The caller adds TLS.
   * @throws ProxyError
   */
  async open(target: Target): Promise<Socket> {
    const text = this.#readUrl();
    const fault = findFault(text);
    if (fault !== null) throw new ProxyError('proxy_unreachable', `its address ${fault}`);
    const access: ProxyAccess = { url: new URL(text), ca: this.#ca };
    if (!access.url.protocol.startsWith('socks')) return openHttpTunnel(access, target);
    // 2 MB of memory, which only users of SOCKS need.
    const { openSocksTunnel } = await import('./socks-tunnel.js');
    return openSocksTunnel(access, target);
  }
}
