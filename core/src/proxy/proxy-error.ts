/** Why a proxy did not open a connection. */
export type ProxyFailure = 'proxy_unreachable' | 'proxy_login_refused' | 'proxy_refused';

const TEXTS: Record<ProxyFailure, string> = {
  proxy_unreachable: 'the proxy cannot be reached',
  proxy_login_refused: 'the proxy refused user and password',
  proxy_refused: 'the proxy did not connect to the host',
};

export const isProxyFailure = (code: string): code is ProxyFailure => Object.hasOwn(TEXTS, code);

/** Contains neither the address of the proxy nor its password, because errors are logged. */
export class ProxyError extends Error {
  override name = 'ProxyError';
  constructor(
    readonly code: ProxyFailure,
    /** Status of the proxy, or code of the connection to it. */
    readonly detail?: string,
  ) {
    super(detail === undefined ? TEXTS[code] : `${TEXTS[code]} (${detail})`);
  }
}
