import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiStatus } from '../cluster/local/api-status.js';

/** A request and its response, for handlers. */
export interface Exchange {
  method: string;
  path: string;
  query: URLSearchParams;
  request: IncomingMessage;
  response: ServerResponse;
}

const MAX_BODY_BYTES = 1_000_000;

export function sendJson({ response }: Exchange, code: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(code, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  response.end(text);
}

/** @throws ApiStatus */
export async function readBody({ request }: Exchange): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) {
      throw new ApiStatus('RequestEntityTooLarge', `the body exceeds ${MAX_BODY_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new ApiStatus('BadRequest', 'the body is not UTF-8');
  }
}

/** @throws ApiStatus (Unauthorized) */
export function authorize({ request }: Exchange, token: string | undefined): void {
  if (token === undefined) {
    throw new ApiStatus(
      'Unauthorized',
      'this operator has no GWK_OPERATOR_LOCAL_TOKEN, so it accepts no token',
    );
  }
  const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const digest = (text: string) => createHash('sha256').update(text).digest();
  if (timingSafeEqual(digest(given), digest(token))) return;
  throw new ApiStatus('Unauthorized', 'the bearer token is missing or wrong');
}
