import type { Agent as HttpAgent, AgentOptions, ClientRequestArgs } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { http } from '../http/node-http.js';
import type { Target } from './access.js';
import { Proxy, type ProxyConfig } from './proxy.js';

type Created = (error: Error | null, stream: Duplex) => void;
type Connect = (options: ClientRequestArgs, created?: Created) => Duplex | null | undefined;

/** Agents for Node's HTTP client that open their connections through a proxy. */
export interface ProxyAgents {
  http: HttpAgent;
  https: HttpsAgent;
}

/** Null: no proxy is configured. */
export function openAgents(config: ProxyConfig): ProxyAgents | null {
  const proxy = Proxy.fromConfig(config);
  return proxy && createAgents(proxy);
}

export function createAgents(proxy: Proxy, options: AgentOptions = {}): ProxyAgents {
  const plain = new http.Agent(options);
  const secure = new HttpsAgent(options);
  plain.createConnection = tunnel(proxy, 80, plain.createConnection.bind(plain), (socket) => socket);
  const connectTls = secure.createConnection.bind(secure);
  secure.createConnection = tunnel(proxy, 443, connectTls, (socket, given) =>
    connectTls({ ...given, socket } as ClientRequestArgs),
  );
  return { http: plain, https: secure };
}

/** `finish` runs on the connection that the proxy opened. */
function tunnel(
  proxy: Proxy,
  defaultPort: number,
  connectDirectly: Connect,
  finish: (socket: Duplex, options: ClientRequestArgs) => Duplex | null | undefined,
): Connect {
  return (options, created) => {
    const target: Target = { host: options.host ?? 'localhost', port: Number(options.port ?? defaultPort) };
    if (proxy.isDirect(target.host, target.port)) return connectDirectly(options, created);
    proxy.open(target).then(
      (socket) => created?.(null, finish(socket, options)!),
      // Node reads the second argument only without an error.
      (error: Error) => created?.(error, undefined as never),
    );
    return undefined;
  };
}
