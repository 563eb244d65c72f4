import type { IncomingMessage } from 'node:http';
import { RefusalError } from './refusal.js';

/**
 * The JSON body of a call.
 * @throws RefusalError `invalid` for a body that is too large, not UTF-8 or not JSON
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw invalid('the body is too large');
    chunks.push(chunk);
  }
  return parseJson(Buffer.concat(chunks));
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parseJson(bytes: Buffer): unknown {
  try {
    const text = utf8.decode(bytes);
    // Postgres cannot keep NUL in text, and what the network delivers may hold it.
    return text.includes('\\u0000') ? JSON.parse(text, withoutNul) : JSON.parse(text);
  } catch {
    throw invalid('the body is not JSON in UTF-8');
  }
}

function withoutNul(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.replaceAll('\u0000', '') : value;
}

function invalid(message: string): RefusalError {
  return new RefusalError('invalid', { issues: [{ path: [], message }] });
}
