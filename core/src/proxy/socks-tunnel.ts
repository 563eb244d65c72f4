import type { Socket } from 'node:net';
import { SocksClient } from 'socks';
import { bareHost, readLogin, type ProxyAccess, type Target } from './access.js';
import { TUNNEL_TIMEOUT_MS } from './http-tunnel.js';
import { ProxyError } from './proxy-error.js';

/** @throws ProxyError */
export async function openSocksTunnel({ url }: Pick<ProxyAccess, 'url'>, target: Target): Promise<Socket> {
  const login = readLogin(url);
  try {
    const { socket } = await SocksClient.createConnection({
      proxy: {
        host: bareHost(url.hostname),
        port: Number(url.port || 1080),
        type: 5,
        ...(login && { userId: login.user, password: login.password }),
      },
      command: 'connect',
      destination: target,
      timeout: TUNNEL_TIMEOUT_MS,
    });
    return socket;
  } catch (error) {
    // The library's error contains the password.
    throw classifyError(error as NodeJS.ErrnoException);
  }
}

/** Only the text of the library's error says which step failed. */
function classifyError({ message }: Error): ProxyError {
  if (/authentication/i.test(message)) return new ProxyError('proxy_login_refused');
  const [, reply] = /rejected connection(?: - (\w+))?/.exec(message) ?? [];
  if (/rejected connection/.test(message)) return new ProxyError('proxy_refused', reply);
  return new ProxyError('proxy_unreachable', /\bE[A-Z]{4,20}\b/.exec(message)?.[0] ?? 'no answer');
}
