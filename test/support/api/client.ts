import { Agent, request, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import type { ProblemBody } from '@gwk/core/problems/problems';
import { CONSOLE_OPERATIONS, OPERATIONS } from '@gwk/api/public-api/operations';
import { openApiDocument } from '@gwk/api/openapi/document';
import { ContractChecker, type Seen } from './contract/checker.js';
import { record } from './contract/seen-answers.js';

/** Response of one API process, as a consumer sees it. */
export interface Answer<T> {
  status: number;
  headers: IncomingHttpHeaders;
  body: T;
}

export interface Sending {
  /** Objects are sent as JSON, strings unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  query?: Record<string, string>;
}

const ANY_URL = 'https://example.org';
const CONSOLE = '/console/api/';
let checkers: { console: ContractChecker; other: ContractChecker } | undefined;

/** @throws Error if the OpenAPI document does not describe the response */
export function checkAnswer(seen: Seen): void {
  const urls = { baseUrl: ANY_URL, docsUrl: ANY_URL };
  checkers ??= {
    console: new ContractChecker(
      openApiDocument({ operations: CONSOLE_OPERATIONS, of: 'console', ...urls }),
      CONSOLE,
    ),
    other: new ContractChecker(openApiDocument({ operations: OPERATIONS, ...urls })),
  };
  const seenAnswer = checkers[seen.path.startsWith(CONSOLE) ? 'console' : 'other'].check(seen);
  if (seenAnswer) record(seenAnswer);
}

/** Checks every response against the OpenAPI document. */
export class ApiClient {
  readonly #agent = new Agent({ keepAlive: true });

  constructor(
    readonly port: number,
    readonly apiKey: string | null,
  ) {}

  close(): void {
    this.#agent.destroy();
  }

  async call<T = ProblemBody>(method: string, path: string, sending: Sending = {}): Promise<Answer<T>> {
    const { body, headers, query } = sending;
    const payload = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const search = query ? `?${new URLSearchParams(query).toString()}` : '';
    const options = {
      host: '127.0.0.1',
      port: this.port,
      method,
      path: path + search,
      agent: this.#agent,
      headers: {
        ...(this.apiKey !== null && { authorization: `Bearer ${this.apiKey}` }),
        ...(payload !== undefined && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(payload)),
        }),
        ...headers,
      },
    };
    const seen = await exchange(options, payload);
    const bySession = headers !== undefined && 'cookie' in headers;
    checkAnswer({ ...seen, method, path: options.path, bySession });
    const { status, headers: given, text } = seen;
    return { status, headers: given, body: readBody(text, given['content-type']) as T };
  }
}

/** JSON as its value, other types as text. */
function readBody(text: string, type = ''): unknown {
  if (text === '') return undefined;
  return type.includes('json') ? JSON.parse(text) : text;
}

function exchange(
  options: RequestOptions,
  payload: string | undefined,
): Promise<{ status: number; headers: IncomingHttpHeaders; text: string }> {
  return new Promise((resolve, reject) => {
    const call = request(options, (response) => {
      const { statusCode: status = 0, headers } = response;
      // A stream may have no end. sse.ts reads its events.
      if (headers['content-type']?.startsWith('text/event-stream')) {
        response.destroy();
        return resolve({ status, headers, text: '' });
      }
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status, headers, text: Buffer.concat(chunks).toString() }));
    });
    call.on('error', reject);
    call.end(payload);
  });
}
