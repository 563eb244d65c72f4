import type { Readable } from 'node:stream';
import type { EngineClient } from '@gwk/core/protocol/internal-client';
import { InternalApiRefusal, InternalApiUnreachable } from '@gwk/core/protocol/internal-client';
import type {
  EngineRequest,
  EngineResponse,
  EngineRoute,
  LeaseIdentity,
  MediaUploadResponse,
  ReceivedFileHints,
  CallBody,
  SessionEntry,
} from '@gwk/core/protocol/engine';
import { isNumberedRoute, type NumberedRoute } from '@gwk/core/protocol/numbered-routes';
import type { Refusal } from '@gwk/core/protocol/refusals';
import { processClock, type Clock } from '@gwk/core/clock';
import type { Logger } from '@gwk/core/process/log';
import type { LinkedNames } from '@gwk/core/ids/recipients';
import { backoffDelay } from '@gwk/core/async/backoff';
import { KeyedLock } from '@gwk/core/async/keyed-lock';
import { waitOnClock } from '../clock.js';

/** Refusals that end the engine: close the socket first, then exit. */
const FINAL_REFUSALS = ['fenced', 'unauthorized', 'gone'] as const satisfies readonly Refusal[];
export type FinalRefusal = (typeof FINAL_REFUSALS)[number];

export function findFinalRefusal(error: unknown): FinalRefusal | undefined {
  if (!(error instanceof InternalApiRefusal)) return undefined;
  return FINAL_REFUSALS.find((refusal) => refusal === error.refusal);
}

/** The client is closed after a final refusal or because the engine stops. */
export class ClientClosed extends Error {
  override name = 'ClientClosed';
}

interface ClientOptions {
  client: EngineClient;
  lease: LeaseIdentity;
  log: Logger;
  onRefused: (refusal: FinalRefusal) => void;
  clock?: Clock;
}

const RETRY = { firstMs: 200, maxMs: 3_000 };

/**
 * Calls the internal API on behalf of one lease. The first final refusal, of any call, is reported to `onRefused`
 * and closes the client. Every later call and every retry in progress throws ClientClosed.
 */
export class InternalApiClient {
  readonly #options: ClientOptions;
  readonly #closed = new AbortController();
  /** Number of the last call, for routes that must keep their order. */
  readonly #numbers = new Map<NumberedRoute, number>();
  readonly #names = new KeyedLock();
  /** The last attempt to claim is in progress or was not answered. */
  #unanswered = false;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  get closed(): boolean {
    return this.#closed.signal.aborted;
  }

  /** @throws ClientClosed, InternalApiUnreachable, InternalApiRefusal (`invalid`) */
  async call<R extends EngineRoute>(
    route: R,
    body: CallBody<R>,
    timeoutMs?: number,
  ): Promise<EngineResponse<R>> {
    return this.#send(route, { ...body, ...this.#nextNumber(route) }, timeoutMs);
  }

  /** A call keeps its number on every retry, except for claims: each attempt has its own. */
  #nextNumber(route: EngineRoute): { number?: number } {
    if (!isNumberedRoute(route)) return {};
    const number = (this.#numbers.get(route) ?? 0) + 1;
    this.#numbers.set(route, number);
    return { number };
  }

  async #send<R extends EngineRoute>(
    route: R,
    body: object,
    timeoutMs?: number,
    traceparent?: string | null,
  ): Promise<EngineResponse<R>> {
    const { client, lease } = this.#options;
    const request = { ...body, ...lease } as EngineRequest<R>;
    return this.#unlessClosed(() => client.call(route, request, timeoutMs, traceparent));
  }

  /**
   * Retries until answered. Only for idempotent calls.
   * @throws ClientClosed, InternalApiRefusal (`invalid`)
   */
  async callUntilAnswered<R extends EngineRoute>(route: R, body: CallBody<R>): Promise<EngineResponse<R>> {
    const numbered = { ...body, ...this.#nextNumber(route) };
    return this.#untilAnswered(route, () => this.#send(route, numbered));
  }

  /**
   * Reads the keys of a type, in parts of about 1 MB.
   * @throws ClientClosed, InternalApiRefusal (`invalid`)
   */
  async readSession(type: string, keys: string[] | null): Promise<SessionEntry[]> {
    const read: SessionEntry[] = [];
    for (;;) {
      const last = read.at(-1);
      const after = last && { after: { type: last.type, key: last.key } };
      const { entries, more } = await this.callUntilAnswered('session-read', {
        wanted: [{ type, keys }],
        ...after,
      });
      read.push(...entries);
      if (more !== true) return read;
    }
  }

  /**
   * Reports one pair of names after the other: the API ignores a call that arrives after a newer one.
   * @throws ClientClosed, InternalApiRefusal (`invalid`)
   */
  async storeNames(names: LinkedNames): Promise<void> {
    await this.#names.run('', () => this.callUntilAnswered('names', names));
  }

  /**
   * Claims until answered. An unanswered attempt may have taken messages that nobody waits for. Every attempt until
   * the next answer is therefore marked as repeated, so that the API returns those messages.
   */
  async claim(
    claimId: string,
    { limit, followers }: { limit: number; followers: boolean },
    traceparent: string | null,
  ): Promise<EngineResponse<'claims'>['messages']> {
    const attempt = () => {
      const repeated = this.#unanswered;
      this.#unanswered = true;
      const body = { claim_id: claimId, limit, followers, repeated, ...this.#nextNumber('claims') };
      return this.#send('claims', body, undefined, traceparent);
    };
    const { messages } = await this.#untilAnswered('claims', attempt);
    this.#unanswered = false;
    return messages;
  }

  async #untilAnswered<T>(route: string, call: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      let retryAfterMs: number | null = null;
      try {
        return await call();
      } catch (error) {
        if (error instanceof ClientClosed || error instanceof InternalApiRefusal) throw error;
        if (attempt === 1)
          this.#options.log.warn({ route, err: error }, 'internal API unreachable; retrying');
        if (error instanceof InternalApiUnreachable) retryAfterMs = error.retryAfterMs;
      }
      await this.#pause(attempt, retryAfterMs);
    }
  }

  /**
   * Streams the finished file of a claimed message. Starts over when the stream breaks off.
   * @throws ClientClosed, InternalApiRefusal (`invalid`: the file no longer exists), errors of `read`
   */
  async readFile<T>(messageId: string, read: (file: Readable) => Promise<T>): Promise<T> {
    const { client, lease } = this.#options;
    const request = { ...lease, message_id: messageId };
    const download = () => this.#unlessClosed(() => client.download(request));
    for (let attempt = 1; ; attempt++) {
      const result = await readUnlessBroken(await this.#untilAnswered('media-download', download), read);
      if (result) return result.value;
      await this.#pause(attempt);
    }
  }

  /**
   * Makes one attempt, because its source cannot be read again.
   * @throws ClientClosed, InternalApiRefusal, InternalApiUnreachable
   */
  async storeFile(file: Readable, { size, ...named }: ReceivedFileHints): Promise<MediaUploadResponse> {
    const { client, lease } = this.#options;
    const { epoch, holder } = lease;
    const stated = { epoch: String(epoch), holder, ...named, ...(size && { size: String(size) }) };
    return this.#unlessClosed(() => client.upload(stated, file));
  }

  close(): void {
    this.#closed.abort();
  }

  /** @throws ClientClosed once closed and after a final refusal, else the error of the call */
  async #unlessClosed<T>(call: () => Promise<T>): Promise<T> {
    if (this.closed) throw new ClientClosed();
    try {
      return await call();
    } catch (error) {
      const refusal = findFinalRefusal(error);
      if (!refusal) throw error;
      if (!this.closed) {
        this.close();
        this.#options.onRefused(refusal);
      }
      throw new ClientClosed();
    }
  }

  /** Waits until the backoff is over and the API wants the next attempt. */
  #pause(attempt: number, retryAfterMs: number | null = null): Promise<void> {
    const ms = Math.max(backoffDelay(RETRY, attempt), retryAfterMs ?? 0);
    return waitOnClock(this.#options.clock ?? processClock, ms, this.#closed.signal);
  }
}

/** Undefined when the stream broke off while it was read. */
async function readUnlessBroken<T>(
  file: Readable,
  read: (file: Readable) => Promise<T>,
): Promise<{ value: T } | undefined> {
  let broken = false;
  file.once('error', () => (broken = true));
  try {
    return { value: await read(file) };
  } catch (error) {
    if (broken) return undefined;
    throw error;
  }
}
