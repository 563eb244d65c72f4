import type { Proxy } from '@gwk/core/proxy/proxy';
import type { buildConnector } from 'undici';

interface Options {
  proxy: Proxy;
  /** Connects without the proxy, and adds TLS to a connection that the proxy opened. */
  connect: buildConnector.connector;
  /** Rejects a host that the proxy must not connect to. */
  judge?: (hostname: string) => Promise<void>;
}

/** Connector of undici that opens connections through a proxy. */
export function proxyConnector({ proxy, connect, judge }: Options): buildConnector.connector {
  return (target, callback) => {
    const isTls = target.protocol === 'https:';
    const host = target.hostname.replace(/^\[|\]$/g, '');
    const port = Number(target.port || (isTls ? 443 : 80));
    if (proxy.isDirect(host, port)) return connect(target, callback);
    const opening = (judge?.(host) ?? Promise.resolve()).then(() => proxy.open({ host, port }));
    opening.then(
      (socket) => (isTls ? connect({ ...target, httpSocket: socket }, callback) : callback(null, socket)),
      (error: Error) => callback(error, null),
    );
  };
}
