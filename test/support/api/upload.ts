import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { checkAnswer, type Answer, type ApiClient } from './client.js';

/** Multipart uploads, well-formed and malformed. */
export interface Part {
  name: string;
  filename?: string;
  type?: string;
  content: Buffer | string | Iterable<Buffer>;
}

export interface UploadSending {
  headers?: Record<string, string>;
  /** Content-Length to send instead of the real one. */
  announced?: number;
  /** Cuts off the end of the form. */
  truncated?: boolean;
}

export async function upload<T>(
  client: ApiClient,
  parts: readonly Part[],
  sending: UploadSending = {},
): Promise<Answer<T>> {
  const boundary = randomBytes(12).toString('hex');
  const call = request({
    host: '127.0.0.1',
    port: client.port,
    method: 'POST',
    path: '/v1/media',
    headers: {
      ...(client.apiKey !== null && { authorization: `Bearer ${client.apiKey}` }),
      'content-type': `multipart/form-data; boundary=${boundary}`,
      ...(sending.announced !== undefined && { 'content-length': String(sending.announced) }),
      ...sending.headers,
    },
  });
  const answered = new Promise<Answer<T>>((resolve, reject) => {
    call.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const { statusCode: status = 0, headers } = response;
        checkAnswer({ method: 'POST', path: '/v1/media', status, headers, text });
        resolve({ status, headers, body: (text === '' ? undefined : JSON.parse(text)) as T });
      });
    });
    call.on('error', reject);
  });
  const sent = pipeline(Readable.from(formOf(parts, boundary, sending.truncated)), call);
  // A response before the end of the form closes the connection. Only the response matters.
  sent.catch(() => undefined);
  return answered;
}

function* formOf(parts: readonly Part[], boundary: string, truncated = false): Iterable<Buffer> {
  for (const { name, filename, type, content } of parts) {
    const named = filename === undefined ? '' : `; filename="${filename}"`;
    const typed = type === undefined ? '' : `Content-Type: ${type}\r\n`;
    yield Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${named}\r\n${typed}\r\n`,
    );
    if (typeof content === 'string' || Buffer.isBuffer(content)) yield Buffer.from(content);
    else yield* content;
    yield Buffer.from('\r\n');
  }
  if (!truncated) yield Buffer.from(`--${boundary}--\r\n`);
}

/** Yields `size` random bytes, created on demand. */
export function* noise(size: number): Iterable<Buffer> {
  const block = randomBytes(65_536);
  for (let left = size; left > 0; left -= block.length) yield block.subarray(0, Math.min(left, block.length));
}
