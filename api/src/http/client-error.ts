import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { RateVerdict } from '../accounts/rate-limiter.js';
import { pushRate } from './respond.js';

/**
 * What is no HTTP request, has headers without end, or never arrives whole: Node tells of these before there is a
 * request that could be judged, so they are answered in the terms of HTTP alone, and their connection ends.
 */
export function clientErrorHandler(
  rateOf: (address: string) => RateVerdict,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = statusOf(error.code);
    const title = STATUS_CODES[status]!;
    const requestId = randomUUID();
    const body = JSON.stringify({ type: 'about:blank', title, status, request_id: requestId });
    const headers = ['X-Request-ID', requestId, 'Content-Type', 'application/problem+json; charset=utf-8'];
    headers.push('Content-Length', String(Buffer.byteLength(body)), 'Connection', 'close');
    pushRate(headers, rateOf(socket.remoteAddress ?? ''));
    const lines = [`HTTP/1.1 ${status} ${title}`];
    for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]!}: ${headers[i + 1]!}`);
    socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => socket.destroySoon());
  };
}

function statusOf(code: string | undefined): number {
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400;
}
