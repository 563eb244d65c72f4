import type { IncomingMessage } from 'node:http';
import { RefusalError } from '../engines/refusal.js';

/** The caller went away before its request had arrived. */
export class RequestAborted extends Error {
  override name = 'RequestAborted';
}

/**
 * The JSON body of a call. A body that is too large is refused as soon as that is seen, with its connection still
 * open for the answer.
 *
 * @param take told of each piece before it is kept; it may throw
 * @throws RefusalError `invalid` for a body that is too large, not UTF-8 or not JSON; RequestAborted
 */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
  take: (bytes: number) => void = () => undefined,
): Promise<unknown> {
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let refused = false;
    const refuse = (error: Error): void => {
      refused = true;
      chunks.length = 0;
      reject(error);
    };
    request.on('data', (chunk: Buffer) => {
      if (refused) return;
      size += chunk.length;
      if (size > maxBytes) return refuse(invalid('the body is too large'));
      try {
        take(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        refuse(error as Error);
      }
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    const aborted = (): void => {
      if (!request.complete) reject(new RequestAborted());
    };
    request.on('close', aborted);
    request.on('error', aborted);
  });
  return parseJson(bytes);
}

/** Postgres keeps neither NUL nor half a character; what the network delivers may hold them. */
const UNSTORABLE = /\\u(0000|d[89a-f])/i;

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(bytes: Buffer): unknown {
  try {
    const text = utf8.decode(bytes);
    return UNSTORABLE.test(text) ? JSON.parse(text, storable) : JSON.parse(text);
  } catch {
    throw invalid('the body is not JSON in UTF-8');
  }
}

function storable(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\u0000', '').toWellFormed() : value;
}

function invalid(message: string): RefusalError {
  return new RefusalError('invalid', { issues: [{ path: '', message }] });
}
