import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { Problem } from '@gwk/core/problems/problems';
import { MAX_JSON_BODY_BYTES } from '@gwk/core/resources/common';

/** Accepted type of a body: JSON in UTF-8. The limit is 1 MB. */
const JSON_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?\s*$/i;

const MAX_DEPTH = 200;
/** More than any valid body has. Parsing and validating 90,000 fields would hold the event loop for 150 ms. */
const MAX_VALUES = 10_000;
const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];

/** Refusal of a body over the limit. The connection closes without reading the rest. */
class BodyTooLarge extends Problem {
  constructor() {
    super('file-too-large', {
      detail: { pt: 'O corpo JSON excede 1 MB.', en: 'The JSON body exceeds 1 MB.' },
    });
  }
}

/** The client disconnected before its request was complete. */
export class ClientGone extends Error {
  override name = 'ClientGone';
}

/**
 * Reads and parses the body.
 * @param optional returns undefined for an absent body instead of throwing
 * @throws Problem `validation-error`, BodyTooLarge, ClientGone
 */
export async function readJson(req: IncomingMessage, optional = false): Promise<unknown> {
  const { headers } = req;
  const announced = Number(headers['content-length'] ?? (headers['transfer-encoding'] ? NaN : 0));
  if (announced === 0 && optional) return undefined;
  if (announced > MAX_JSON_BODY_BYTES) throw new BodyTooLarge();
  if (announced !== 0) checkHeaders(req);
  return parseJson(await readBytes(req));
}

function readBytes(req: IncomingMessage): Buffer | Promise<Buffer> {
  // The whole body arrived with the headers, as most do: no listener is needed.
  if (req.complete && req.readableLength <= MAX_JSON_BODY_BYTES) {
    return (req.read() as Buffer | null) ?? Buffer.alloc(0);
  }
  let size = 0;
  return readChunks(req, (bytes) => {
    size += bytes;
    if (size > MAX_JSON_BODY_BYTES) throw new BodyTooLarge();
  });
}

/**
 * Reads a body to its end. If `take` throws at the size of a chunk, the rest of the body is discarded.
 * @throws ClientGone, errors of `take`
 */
export function readChunks(req: IncomingMessage, take: (bytes: number) => void): Promise<Buffer> {
  // A closed request emits nothing more. An engine's call may wait for its turn while its client gives up.
  if (req.destroyed) return Promise.reject(new ClientGone());
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  const onData = (chunk: Buffer): void => {
    try {
      take(chunk.length);
      chunks.push(chunk);
    } catch (error) {
      chunks.length = 0;
      req.off('data', onData).resume();
      reject(error);
    }
  };
  // `close` follows every request; create the error, which costs a stack trace, only when it is needed.
  const onEnd = (): void => {
    if (!req.complete) reject(new ClientGone());
  };
  req.on('data', onData);
  req.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
  req.on('close', onEnd);
  req.on('error', onEnd);
  return promise;
}

function checkHeaders({ headers }: IncomingMessage): void {
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) {
    throw malformed('content-type', 'The body must be application/json in UTF-8.');
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw malformed('content-encoding', 'The body must not be compressed.');
  }
}

export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw malformed('utf-8', 'The body must be valid UTF-8.');
  const text = bytes.toString('utf8');
  checkStructure(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('json', 'The body is not valid JSON.');
  }
  // Search the parsed value only if the text has the escape, which may also be an escaped backslash before `u0000`.
  if (text.includes('\\u0000') && containsNul(value)) {
    throw malformed('nul', 'The body must not contain the character NUL.');
  }
  return value;
}

/**
 * Bounds the nesting, so that recursive functions cannot overflow the stack, and the number of values.
 * @throws Problem `validation-error`
 */
function checkStructure(text: string): void {
  if (text.length < MAX_DEPTH * 2) return;
  let depth = 0;
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === QUOTE) i = endOfString(text, i);
    else if (unit === COMMA) values++;
    else if (unit === OPEN_BRACE || unit === OPEN_BRACKET) {
      // Its first field or item; the commas count the others.
      values++;
      if (++depth > MAX_DEPTH) throw malformed('depth', 'The body is nested too deeply.');
    } else if (unit === CLOSE_BRACE || unit === CLOSE_BRACKET) depth--;
  }
  if (values > MAX_VALUES) throw malformed('too-many', 'The body has too many fields or items.');
}

/** Index of the quote that ends the string. */
function endOfString(text: string, start: number): number {
  let i = start + 1;
  for (; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === BACKSLASH) i++;
    else if (unit === QUOTE) break;
  }
  return i;
}

function containsNul(root: unknown): boolean {
  const waiting: unknown[] = [root];
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === 'string' && value.includes('\0')) return true;
    if (value === null || typeof value !== 'object') continue;
    for (const [key, member] of Object.entries(value)) {
      if (key.includes('\0')) return true;
      waiting.push(member);
    }
  }
  return false;
}

function malformed(code: string, message: string): Problem {
  return new Problem('validation-error', { errors: [{ path: '', code, message }] });
}
