import type { Readable } from 'node:stream';
import type { EngineClient } from '@gwk/core/protocol/internal-client';
import { InternalApiRefusal } from '@gwk/core/protocol/internal-client';
import type {
  EngineRequest,
  EngineResponse,
  EngineRoute,
  LeaseIdentity,
  MediaUploadResponse,
  CallBody,
} from '@gwk/core/protocol/engine';
import { isNumberedRoute, type NumberedRoute } from '@gwk/core/protocol/numbered-routes';
import type { Refusal } from '@gwk/core/protocol/refusals';
import type { Logger } from '@gwk/core/log';
import { backoffDelay } from '../backoff.js';

/** The number is not this engine's any more: close the socket first, then exit. */
export const FINAL_REFUSALS = ['fenced', 'unauthorized', 'gone'] as const satisfies readonly Refusal[];
export type FinalRefusal = (typeof FINAL_REFUSALS)[number];

export function findFinalRefusal(error: unknown): FinalRefusal | undefined {
  if (!(error instanceof InternalApiRefusal)) return undefined;
  return FINAL_REFUSALS.find((refusal) => refusal === error.refusal);
}

/** The engine gave up, because it was refused for good or because it stops. */
export class ClientClosed extends Error {
  override name = 'PortClosed';
}

const RETRY = { first: 200, most: 3_000 };

/**
 * The internal port, in the name of one lease. A final refusal is told to `onRefused` once, whichever call met it,
 * and closes this port: every later call, and every repetition under way, throws PortClosed.
 */
export class InternalApiClient {
  readonly #client: EngineClient;
  readonly #log: Logger;
  readonly #onRefused: (refusal: FinalRefusal) => void;
  readonly #closed = new AbortController();
  readonly lease: LeaseIdentity;
  /** Of each route whose order matters, the number of the last call. */
  readonly #numbers = new Map<NumberedRoute, number>();
  /** The last attempt to claim was not answered, or is under way. */
  #unanswered = false;

  constructor(options: {
    client: EngineClient;
    lease: LeaseIdentity;
    log: Logger;
    onRefused: (refusal: FinalRefusal) => void;
  }) {
    this.#client = options.client;
    this.lease = options.lease;
    this.#log = options.log;
    this.#onRefused = options.onRefused;
  }

  get closed(): boolean {
    return this.#closed.signal.aborted;
  }

  /** @throws PortClosed, InternalApiUnreachable, InternalApiRefusal (`invalid`) */
  async call<R extends EngineRoute>(
    route: R,
    body: CallBody<R>,
    timeoutMs?: number,
    traceparent?: string | null,
  ): Promise<EngineResponse<R>> {
    return this.#send(route, { ...body, ...this.#nextNumber(route) }, timeoutMs, traceparent);
  }

  /** A call keeps its number however often it is repeated; of claims, each attempt has its own. */
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
    if (this.closed) throw new ClientClosed();
    const { epoch, holder } = this.lease;
    const request = { ...body, epoch, holder } as EngineRequest<R>;
    try {
      return await this.#client.call(route, request, timeoutMs, traceparent);
    } catch (error) {
      const refusal = findFinalRefusal(error);
      if (!refusal) throw error;
      this.#closeAfterRefusal(refusal);
      throw new ClientClosed();
    }
  }

  /**
   * Until it is answered. Only for calls that may be repeated.
   * @throws PortClosed, InternalApiRefusal (`invalid`)
   */
  async callUntilAnswered<R extends EngineRoute>(
    route: R,
    body: CallBody<R>,
    traceparent?: string | null,
  ): Promise<EngineResponse<R>> {
    const numbered = { ...body, ...this.#nextNumber(route) };
    return this.#untilAnswered(route, () => numbered, traceparent);
  }

  /**
   * `insist` of a claim. An attempt that had no answer may take messages that nobody waits for, until one that says of
   * itself that it is repeated has been answered: so does each after it until then.
   */
  async claim(
    claimId: string,
    limit: number,
    traceparent?: string | null,
  ): Promise<EngineResponse<'claims'>['messages']> {
    const attempt = () => {
      const repeated = this.#unanswered;
      this.#unanswered = true;
      return { claim_id: claimId, limit, repeated, ...this.#nextNumber('claims') };
    };
    const { messages } = await this.#untilAnswered('claims', attempt, traceparent);
    this.#unanswered = false;
    return messages;
  }

  async #untilAnswered<R extends EngineRoute>(
    route: R,
    bodyOfAttempt: () => object,
    traceparent?: string | null,
  ): Promise<EngineResponse<R>> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#send(route, bodyOfAttempt(), undefined, traceparent);
      } catch (error) {
        if (error instanceof ClientClosed || error instanceof InternalApiRefusal) throw error;
        if (attempt === 1) this.#log.warn({ route, err: error }, 'the internal port cannot be reached');
      }
      await this.#pause(backoffDelay(RETRY, attempt));
    }
  }

  /**
   * Reads the finished file of a claimed message, from its beginning again where it breaks off.
   * @throws PortClosed, InternalApiRefusal (`invalid`: the file is gone), what `read` throws of its own
   */
  async readFile<T>(messageId: string, read: (file: Readable) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      if (this.closed) throw new ClientClosed();
      const file = await this.#download(messageId, attempt);
      const result = file && (await readUnlessBroken(file, read));
      if (result) return result.value;
      await this.#pause(backoffDelay(RETRY, attempt));
    }
  }

  /**
   * Once: its source cannot be read again.
   * @throws PortClosed, InternalApiRefusal, InternalApiUnreachable
   */
  async storeFile(
    file: Readable,
    named: { mimetype?: string; filename?: string },
  ): Promise<MediaUploadResponse> {
    if (this.closed) throw new ClientClosed();
    const { epoch, holder } = this.lease;
    try {
      return await this.#client.upload({ epoch: String(epoch), holder, ...named }, file);
    } catch (error) {
      const refusal = findFinalRefusal(error);
      if (!refusal) throw error;
      this.#closeAfterRefusal(refusal);
      throw new ClientClosed();
    }
  }

  /** Undefined where the port cannot be reached. */
  async #download(messageId: string, attempt: number): Promise<Readable | undefined> {
    try {
      return await this.#client.download({ ...this.lease, message_id: messageId });
    } catch (error) {
      const refusal = findFinalRefusal(error);
      if (refusal) {
        this.#closeAfterRefusal(refusal);
        throw new ClientClosed();
      }
      if (error instanceof InternalApiRefusal) throw error;
      if (attempt === 1) this.#log.warn({ err: error }, 'a file cannot be fetched from the internal port');
      return undefined;
    }
  }

  /** What is heard of a deleted instance: after the refusal, once, and whether it is heard or not. */
  async callBestEffort<R extends EngineRoute>(route: R, body: CallBody<R>, timeoutMs: number): Promise<void> {
    const request = { ...body, epoch: this.lease.epoch, holder: this.lease.holder };
    await this.#client
      .call(route, request as unknown as EngineRequest<R>, timeoutMs)
      .catch((error: unknown) => this.#log.info({ route, err: error }, 'the last word was not heard'));
  }

  close(): void {
    this.#closed.abort();
  }

  #closeAfterRefusal(refusal: FinalRefusal): void {
    if (this.closed) return;
    this.close();
    this.#onRefused(refusal);
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#closed;
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener('abort', done);
      if (signal.aborted) done();
    });
  }
}

/** Undefined where the file broke off while it was read. */
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
