import { lookup } from 'node:dns';
import type { AddressInfo, LookupFunction, Server as NetServer } from 'node:net';
import { MEDIA_CERTIFICATE } from '@gwk/network/media/certificate';
import { createServer as createSocksServer, defaultConnectionHandler } from '@pondwader/socks5-server';
import { RequestError, Server as HttpProxy, type PrepareRequestFunction } from 'proxy-chain';

export type ProxyKind = 'http' | 'https' | 'socks5';

/**
 * A real proxy with user and password. It resolves every name below `test`, `example.com` and `example.org` to this machine. Nothing else
 * resolves these names, so a connection past the proxy fails. It refuses hosts whose name begins with `refused.`.
 */
export interface TestProxy {
  /** With user and password. */
  url: string;
  port: number;
  /** Connections that it opened, as `host:port`. */
  opened: string[];
  stop(): Promise<void>;
}

export const PROXY_LOGIN = { user: 'gateway', password: 'p@ss:word/1' };
export const buildProxyUrl = (
  kind: ProxyKind,
  port: number,
  password = PROXY_LOGIN.password,
  host = kind === 'https' ? 'localhost' : '127.0.0.1',
): string => `${kind}://${PROXY_LOGIN.user}:${encodeURIComponent(password)}@${host}:${port}`;

/** Hosts that every proxy refuses. */
const REFUSED = /^refused\./;
const LOCAL = /\.(?:test|example\.(?:com|org))$/;
const toLocal = (name: string): string => (LOCAL.test(name) ? '127.0.0.1' : name);
const lookUpLocally = ((name, options, callback) =>
  lookup(toLocal(name), options, callback)) as LookupFunction;

/** Certificate authority of the `https` proxy. */
export const PROXY_CA = MEDIA_CERTIFICATE.cert;

/**
 * @param port to start again where a former one stopped
 * @param host for clients on other machines
 */
export async function startProxy(kind: ProxyKind, port = 0, host?: string): Promise<TestProxy> {
  const opened: string[] = [];
  const at = { port, host: host ?? '127.0.0.1' };
  const started = kind === 'socks5' ? await startSocks(opened, at) : await startHttp(kind, opened, at);
  return { ...started, opened, url: buildProxyUrl(kind, started.port, PROXY_LOGIN.password, host) };
}

interface Place {
  port: number;
  host: string;
}

async function startHttp(kind: 'http' | 'https', opened: string[], at: Place) {
  const prepareRequestFunction: PrepareRequestFunction = ({
    username,
    password,
    hostname,
    port: targetPort,
  }) => {
    if (username !== PROXY_LOGIN.user || password !== PROXY_LOGIN.password)
      return { requestAuthentication: true };
    if (REFUSED.test(hostname)) throw new RequestError('not allowed', 403);
    opened.push(`${hostname}:${targetPort}`);
    return { dnsLookup: lookUpLocally as typeof lookup };
  };
  const options = { ...at, prepareRequestFunction };
  const server = new HttpProxy(
    kind === 'https' ? { ...options, serverType: 'https', httpsOptions: MEDIA_CERTIFICATE } : options,
  );
  // A client that leaves early is no fault of the test.
  server.on('requestFailed', () => undefined);
  await server.listen();
  return { port: server.port, stop: () => server.close(true) };
}

async function startSocks(opened: string[], at: Place) {
  const server = createSocksServer({
    auth: { username: PROXY_LOGIN.user, password: PROXY_LOGIN.password },
  });
  const open = new Set<{ destroy: () => void }>();
  server.setRulesetValidator(({ destAddress }, accept, deny) =>
    REFUSED.test(destAddress) ? deny() : accept(),
  );
  server.setConnectionHandler((connection, sendStatus) => {
    opened.push(`${connection.destAddress}:${connection.destPort}`);
    open.add(connection.socket);
    connection.socket.once('close', () => open.delete(connection.socket));
    connection.destAddress = toLocal(connection.destAddress);
    defaultConnectionHandler(connection, sendStatus);
  });
  await new Promise<void>((resolve) => server.listen(at.port, at.host, resolve));
  const { server: listener } = server as unknown as { server: NetServer };
  return {
    port: (listener.address() as AddressInfo).port,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
