import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { STATUS_CODES } from 'node:http';
import { LANGUAGES } from '@gwk/core/language';
import { Problem, buildProblemBody } from '@gwk/core/problems/problems';
import type { RateVerdict } from '../accounts/rate-limiter.js';
import { incompleteRequest, type InFlight } from '../http/in-flight.js';
import { PROBLEM_TYPE } from '../http/respond.js';

const READ_WITHIN_MS = 1_000;

/**
 * Answers malformed requests, oversized headers and incomplete requests with a problem and closes their connections. Node
 * reports these on the socket, before a request object exists.
 */
export function clientErrorHandler(
  docsUrl: string,
  rateOf: (address: string) => RateVerdict,
  inFlight: Pick<InFlight, 'isStalled'>,
): (error: NodeJS.ErrnoException, socket: Socket) => void {
  return (error, socket) => {
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT' || !inFlight.isStalled) return refuse(error, socket);
    // After a stall, Node checks its time limits before it reads the data that arrived meanwhile.
    const before = socket.bytesRead;
    setTimeout(() => {
      if (socket.bytesRead === before) refuse(error, socket);
    }, READ_WITHIN_MS);
  };

  function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const problem = problemOf(error);
    const requestId = randomUUID();
    // Node reports no headers of such a request.
    const [language] = LANGUAGES;
    const body = JSON.stringify(buildProblemBody(problem, { docsUrl, path: '', requestId, language }));
    const rate = rateOf(socket.remoteAddress ?? '');
    const head = [
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}`,
      `X-Request-ID: ${requestId}`,
      `RateLimit-Limit: ${rate.limit}`,
      `RateLimit-Remaining: ${rate.remaining}`,
      `RateLimit-Reset: ${rate.reset}`,
      `Content-Type: ${PROBLEM_TYPE}`,
      `Content-Language: ${language}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroySoon());
  }
}

function problemOf(error: NodeJS.ErrnoException): Problem {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return new Problem('file-too-large', {
      detail: { pt: 'Os cabeçalhos excedem 16 kB.', en: 'The headers exceed 16 kB.' },
    });
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return incompleteRequest();
  const message = 'This is not a valid HTTP request.';
  return new Problem('validation-error', { errors: [{ path: '', code: 'http', message }] });
}
