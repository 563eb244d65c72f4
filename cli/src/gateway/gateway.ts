import { randomUUID } from 'node:crypto';
import { CliError, ProblemError, type ProblemFields } from '../errors.js';
import { readServerEvents, type ServerEvent } from './server-events.js';

/** Address and API key of a gateway. */
export interface Access {
  url: string;
  key: string | null;
}

type QueryValue = string | number | readonly string[] | undefined;
export type Query = Readonly<Record<string, QueryValue>>;

interface RequestParts {
  query?: Query;
  body?: unknown;
  form?: FormData;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

const TIMEOUT_MS = 60_000;
/** The gateway sends a comment every 15 s. */
const SILENCE_MS = 60_000;

/** Calls the HTTP API of one gateway. Errors name the address, never the key. */
export class Gateway {
  constructor(readonly access: Access) {}

  /** @throws CliError */
  async call<T>(method: string, path: string, parts: RequestParts = {}): Promise<T> {
    const response = await this.fetch(method, path, { ...parts, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (response.status === 204) return null as T;
    return (await response.json()) as T;
  }

  /** Reads the pages of a list until it has `limit` items. */
  async list<T>(path: string, query: Query, limit: number): Promise<T[]> {
    const found: T[] = [];
    let cursor: string | null = null;
    do {
      const wanted: Query = {
        ...query,
        limit: Math.min(100, limit - found.length),
        cursor: cursor ?? undefined,
      };
      const page: { data: T[]; next_cursor: string | null } = await this.call('GET', path, { query: wanted });
      found.push(...page.data);
      cursor = page.next_cursor;
    } while (cursor !== null && found.length < limit);
    return found;
  }

  /** Events of one response. It fails if the gateway is silent for a minute. */
  async *stream(path: string, query: Query, lastId: string | null = null): AsyncGenerator<ServerEvent> {
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), SILENCE_MS);
    const headers = { accept: 'text/event-stream', ...(lastId !== null && { 'last-event-id': lastId }) };
    try {
      const { body } = await this.fetch('GET', path, { query, headers, signal: silence.signal });
      if (body !== null) yield* readServerEvents(body, () => timer.refresh());
    } catch (error) {
      throw error instanceof CliError ? error : this.#unreachable(error);
    } finally {
      clearTimeout(timer);
      silence.abort();
    }
  }

  /** @throws CliError unless the answer is 2xx */
  async fetch(method: string, path: string, parts: RequestParts = {}): Promise<Response> {
    const { key, url } = this.access;
    const headers = {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(method === 'POST' && { 'idempotency-key': randomUUID() }),
      ...(parts.body !== undefined && { 'content-type': 'application/json' }),
      'accept-language': 'en',
      ...parts.headers,
    };
    const body = parts.form ?? (parts.body === undefined ? undefined : JSON.stringify(parts.body));
    const response = await fetch(`${url}${path}${writeQuery(parts.query ?? {})}`, {
      method,
      headers,
      redirect: 'error',
      ...(body !== undefined && { body }),
      ...(parts.signal && { signal: parts.signal }),
    }).catch((error: unknown) => {
      throw this.#unreachable(error);
    });
    if (response.ok) return response;
    throw new ProblemError(response.status, await readProblem(response));
  }

  #unreachable(error: unknown): CliError {
    const { cause, message } = error as Error;
    const reason = (cause as Error | undefined)?.message ?? message;
    return new CliError('network', `${this.access.url} does not answer: ${reason}`, { cause: error });
  }
}

export function writeQuery(query: Query): string {
  const words = Object.entries(query).flatMap(([name, value]): [string, string][] => {
    if (value === undefined) return [];
    return (Array.isArray(value) ? value : [value]).map((item: string | number) => [name, String(item)]);
  });
  return words.length === 0 ? '' : `?${new URLSearchParams(words).toString()}`;
}

async function readProblem(response: Response): Promise<ProblemFields> {
  const isProblem = response.headers.get('content-type')?.startsWith('application/problem+json') === true;
  if (!isProblem) return { detail: `${response.url.split('?')[0]} is not an address of a gateway` };
  return (await response.json()) as ProblemFields;
}
