import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { STATUS_CODES } from 'node:http';
import { Problem, buildProblemBody } from '@gwk/core/problems';
import type { RateVerdict } from '../accounts/rate-limiter.js';
import { incompleteRequest } from '../http/in-flight.js';
import { PROBLEM_TYPE, pushRate } from '../http/respond.js';
import type { StallDetector } from '../http/stall-detector.js';

/**
 * Answers malformed requests, oversized headers and incomplete requests with a problem and closes their connections. Node
 * reports these on the socket, before a request object exists.
 */
export function clientErrorHandler(
  docsUrl: string,
  rateOf: (address: string) => RateVerdict,
  stallDetector: StallDetector,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  return (error, socket) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && stallDetector.isRecent)
      unlessRead(socket, () => refuse(error, socket));
    else refuse(error, socket);
  };

  function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const problem = problemOf(error);
    const requestId = randomUUID();
    const body = JSON.stringify(buildProblemBody(problem, { docsUrl, path: '', requestId }));
    const headers = [
      'X-Request-ID',
      requestId,
      'Content-Type',
      PROBLEM_TYPE,
      'Content-Length',
      String(Buffer.byteLength(body)),
      'Connection',
      'close',
    ];
    pushRate(headers, rateOf(socket.remoteAddress ?? ''));
    const lines = [`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}`];
    for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]!}: ${headers[i + 1]!}`);
    socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`, () => socket.destroySoon());
  }
}

const READ_WITHIN_MS = 1_000;

/** After a stall, Node checks its time limits before it reads the data that arrived meanwhile. */
function unlessRead(socket: Socket, then: () => void): void {
  const before = socket.bytesRead;
  setTimeout(() => {
    if (socket.bytesRead === before) then();
  }, READ_WITHIN_MS);
}

function problemOf(error: NodeJS.ErrnoException): Problem {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return new Problem('file-too-large', { detail: 'Os cabeçalhos excedem 16 kB.' });
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return incompleteRequest();
  const message = 'Isto não é uma requisição HTTP válida.';
  return new Problem('validation-error', { errors: [{ path: '', code: 'http', message }] });
}
