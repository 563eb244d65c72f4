import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { http } from '../http/node-http.js';
import { bareHost, readLogin, type ProxyAccess, type Target } from './access.js';
import { ProxyError } from './proxy-error.js';

/** For connecting to the proxy and for its answer, which may wait for the target. */
export const TUNNEL_TIMEOUT_MS = 15_000;
const LOGIN_REQUIRED = 407;

/** @throws ProxyError */
export function openHttpTunnel({ url, ca }: ProxyAccess, target: Target): Promise<Socket> {
  const host = bareHost(url.hostname);
  const authority = `${isIP(target.host) === 6 ? `[${target.host}]` : target.host}:${target.port}`;
  const isTls = url.protocol === 'https:';
  const options = {
    host,
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...authorize(url) },
    // No connection is shared: it belongs to the target afterwards.
    agent: false as const,
  };
  return new Promise((resolve, reject) => {
    const request = isTls
      ? requestHttps({
          ...options,
          ...(ca !== undefined && { ca }),
          ...(isIP(host) === 0 && { servername: host }),
        })
      : http.request(options);
    const timer = setTimeout(() => request.destroy(new Error('timeout')), TUNNEL_TIMEOUT_MS);
    request.once('close', () => clearTimeout(timer));
    request.once('error', (error: NodeJS.ErrnoException) =>
      reject(new ProxyError('proxy_unreachable', error.code ?? 'no answer')),
    );
    request.once('connect', ({ statusCode = 0 }: IncomingMessage, socket: Socket, head: Buffer) => {
      clearTimeout(timer);
      if (statusCode >= 200 && statusCode < 300) {
        if (head.length > 0) socket.unshift(head);
        return resolve(socket);
      }
      socket.on('error', () => undefined).destroy();
      reject(classifyStatus(statusCode));
    });
    request.end();
  });
}

const classifyStatus = (status: number): ProxyError =>
  new ProxyError(status === LOGIN_REQUIRED ? 'proxy_login_refused' : 'proxy_refused', String(status));

function authorize(url: URL): Record<string, string> {
  const login = readLogin(url);
  if (!login) return {};
  const basic = Buffer.from(`${login.user}:${login.password}`).toString('base64');
  return { 'proxy-authorization': `Basic ${basic}` };
}
