import { setImmediate as nextTurn } from 'node:timers/promises';
import { failpoint } from '@gwk/core/failpoints';
import type { BuiltMessageRecord, ClaimedMessage, Outcome } from '@gwk/core/protocol/engine';
import type { FailureCode } from '@gwk/core/states';
import { backoffDelay } from '@gwk/core/async/backoff';
import { processClock, type Clock } from '@gwk/core/clock';
import { tracing } from '@gwk/core/tracing/tracing';
import { waitOnClock } from '../clock.js';
import { SendFailure, type EncodedMessage, type Driver } from '../driver/driver.js';
import type { Gate } from './gate.js';

/** An outcome, without the fields that only the sender knows. */
type Unnamed<T> = Omit<T, 'message_id' | 'traceparent'>;

export type SendResult =
  | Unnamed<Extract<Outcome, { kind: 'sent' }>>
  | Unnamed<Extract<Outcome, { kind: 'failed' }>>
  /** Never written to the socket: returns to the queue. */
  | { kind: 'returned' }
  /** Postgres says that this engine must no longer send it. */
  | { kind: 'dropped' }
  /** Unconfirmed when the engine stops: stays claimed, and the next engine sends the same bytes again. */
  | { kind: 'kept' };

export interface SendContext {
  driver: Driver;
  gate: Gate;
  ackTimeoutMs: number;
  /** Stores the built message, or finds it stored. False when the message must no longer be sent. */
  storeBuilt: (built: BuiltMessageRecord) => Promise<boolean>;
  resending: (message: ClaimedMessage, attempt: number) => void;
  /** The network limits the rate of messages. */
  rateLimited: () => void;
  /** Trace context of the message. */
  traceparent?: string | null;
  clock?: Clock;
}

/** Abort reason for work on a finished message. Shared, because every new Error captures a stack trace. */
const FINISHED = new Error('the message is finished');
/** A message that the network keeps refusing fails, and the next of its conversation is sent. */
const REFUSED_MS = 10 * 60_000;
const RETRY = { firstMs: 250, maxMs: 10_000 };
/**
 * After these attempts the message returns to the queue, so that it does not block its conversation in this engine.
 */
const MAX_BUILD_ATTEMPTS = 4;

/**
 * Delivers one message, from the claim to its result:
 *
 *              ┌ store ───┐
 *     build ─▶ ─┤          ├▶ ┌ gate open? ─▶ write to the network ─▶ acknowledged ─▶ sent
 *              └ encrypt ─┘  │     │ no            │ refused ─────────────────────▶ failed
 *                            │     ▼               │ no answer, or the socket closed: unconfirmed
 *                            │  never written:     ▼
 *                            │  returned        still ours? ──no──▶ dropped
 *                            └───────────────────── yes
 *
 * The built message and the step of the ratchet are stored at the same time. The stanza waits for both.
 *
 * Once written to the socket, a message is unconfirmed until an answer comes, and only its stored bytes are sent, under
 * the same id. An answer to any attempt counts. The worker fails an unconfirmed message after a timeout, so the row is
 * checked before every retry.
 */
export class SendTask {
  readonly message: ClaimedMessage;
  readonly #context: SendContext;
  readonly #finished = new AbortController();
  /** May have reached the network, from this engine or an earlier one. */
  #attempted: boolean;
  /** Set by `#prepare`. */
  #built!: EncodedMessage;
  /** The built message is stored, by this engine or an earlier one. */
  #isStored = false;
  readonly #clock: Clock;
  /** Attempts that were written and got no answer yet, those of an earlier engine included. */
  #unanswered: number;
  /** Time since the first attempt by an earlier engine, because the limit of refusals counts from it. */
  readonly #triedBeforeMs: number;
  /** Time of the first refusal by the network. */
  #refusedSince: number | undefined;
  readonly #answer = Promise.withResolvers<SendResult>();

  constructor(message: ClaimedMessage, context: SendContext) {
    this.message = message;
    this.#context = context;
    this.#clock = context.clock ?? processClock;
    this.#attempted = message.attempted_at !== null;
    this.#unanswered = this.#attempted ? 1 : 0;
    const firstAt = message.attempted_at === null ? Date.now() : Date.parse(message.attempted_at);
    this.#triedBeforeMs = Math.max(0, Date.now() - firstAt);
  }

  get attempted(): boolean {
    return this.#attempted;
  }

  /** Never rejects. */
  async run(): Promise<SendResult> {
    const end = (): void => this.#answer.resolve(this.#abandon());
    const { ended } = this.#context.gate;
    ended.addEventListener('abort', end);
    try {
      const result = await this.#prepare();
      return result ?? (await this.#sendUntilFinished());
    } catch (error) {
      if (error instanceof SendFailure) return failed(error.code, error.text);
      return this.#context.gate.stopping ? this.#abandon() : failed('internal', null);
    } finally {
      ended.removeEventListener('abort', end);
      this.#finished.abort(FINISHED);
    }
  }

  async #prepare(): Promise<SendResult | undefined> {
    const { message } = this;
    if (!this.#context.gate.mayBegin && !this.#attempted) return { kind: 'returned' };
    if (message.built !== null) {
      const bytes = Buffer.from(message.built, 'base64');
      this.#built = { bytes, rendered_as: message.rendered_as, menu: null };
      // The claim just confirmed that it is ours. Bytes stored by an earlier engine need not be stored again.
      this.#isStored = message.attempted_at !== null;
      return undefined;
    }
    const span = this.#startSpan('build');
    const built = await this.#build().finally(() => span.end());
    if (!built) return this.#abandon();
    this.#built = built;
    return undefined;
  }

  #startSpan = (name: string) => tracing.child(name, this.#context.traceparent);

  /**
   * Undefined when it cannot be built now. Nothing was sent.
   * @throws SendFailure that must not be retried
   */
  async #build(): Promise<EncodedMessage | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#context.driver.build(this.message);
      } catch (error) {
        if (!(error instanceof SendFailure) || !error.retriable) throw error;
      }
      if (!this.#context.gate.open || attempt === MAX_BUILD_ATTEMPTS) return undefined;
      if (await this.#unlessAnswered(this.#pause(attempt))) return undefined;
    }
  }

  async #store(): Promise<SendResult | undefined> {
    const { message_id } = this.message;
    const { bytes, rendered_as, menu, card } = this.#built;
    const span = this.#startSpan('store');
    const stored = this.#context.storeBuilt({
      message_id,
      built: bytes.toString('base64'),
      rendered_as,
      menu,
      ...(card && { card: card.toString('base64') }),
    });
    const isOurs = await stored.finally(() => span.end());
    this.#isStored = true;
    return isOurs ? undefined : { kind: 'dropped' };
  }

  async #sendUntilFinished(): Promise<SendResult> {
    const { gate } = this.#context;
    for (let attempt = 1; ; attempt++) {
      if (!gate.mayBegin) {
        if (!this.#attempted || gate.stopping) return this.#abandon();
        const concluded = await this.#unlessAnswered(gate.waitUntilOpen());
        if (concluded) return concluded;
        continue;
      }
      if (attempt > 1) {
        this.#context.resending(this.message, attempt);
        const concluded = await this.#unlessAnswered(this.#store());
        if (concluded) return concluded;
        if (!gate.mayBegin) continue;
      }
      const concluded = await this.#attempt(attempt);
      if (concluded) return concluded;
    }
  }

  /** Makes one attempt. Undefined when no answer came in time. */
  async #attempt(attempt: number): Promise<SendResult | undefined> {
    const { driver, gate, ackTimeoutMs } = this.#context;
    const { bytes, rendered_as } = this.#built;
    const storing = this.#isStored ? Promise.resolve(undefined) : this.#store();
    const stored = storing.then((dropped) => confirmStored(dropped, gate));
    // An attempt that fails earlier does not wait for it.
    stored.catch(() => undefined);
    // The call that stores it leaves at the end of this turn. Otherwise it would leave only after the encryption.
    if (!this.#isStored) await nextTurn();
    let isWritten = false;
    let span = this.#startSpan('encrypt');
    const sending = driver.send({
      waMessageId: this.message.wa_message_id,
      chat: this.message.chat,
      bytes,
      stored,
      mayWrite: () => {
        if (!gate.open) return false;
        this.#attempted = true;
        if (!isWritten) this.#unanswered += 1;
        isWritten = true;
        span.end();
        span = this.#startSpan('acknowledge');
        return true;
      },
      signal: this.#finished.signal,
    });
    void sending.catch(() => undefined).finally(() => span.end());
    const unanswered = sending.then(
      () => this.#answer.resolve({ kind: 'sent', at: new Date().toISOString(), rendered_as }),
      (error: unknown) => this.#handleFailure(error, attempt, isWritten),
    );
    const concluded = await this.#unlessAnswered(storing);
    if (concluded) return concluded;
    // Not an aborted timer, because every message would pay for an error with its stack trace.
    let cancel = (): void => undefined;
    const timeout = new Promise<void>((resolve) => (cancel = this.#clock.after(ackTimeoutMs, resolve)));
    try {
      return await this.#unlessAnswered(Promise.race([unanswered, timeout]));
    } finally {
      cancel();
    }
  }

  /** Finishes the message if the answer is final; otherwise waits before the next attempt. */
  async #handleFailure(error: unknown, attempt: number, isWritten: boolean): Promise<void> {
    const isAnswered = error instanceof SendFailure && error.certain;
    if (isAnswered && error.limitsRate) this.#context.rateLimited();
    if (isAnswered && isWritten) this.#unanswered -= 1;
    if (isAnswered && this.#isFinal(error)) {
      // An earlier attempt may have arrived. Only a timeout is corrected by its receipt.
      const isUnconfirmed = !isWritten && this.#unanswered > 0;
      this.#answer.resolve(failed(isUnconfirmed ? 'timeout' : error.code, error.text));
      return;
    }
    if (this.#context.gate.open) await this.#pause(attempt);
  }

  /** The network may refuse a message for a time. It has not accepted it, so another attempt cannot duplicate it. */
  #isFinal({ retriable, code }: SendFailure): boolean {
    if (!retriable || code !== 'wa_error') return !retriable;
    this.#refusedSince ??= this.#clock.now() - this.#triedBeforeMs;
    return this.#clock.now() - this.#refusedSince >= REFUSED_MS;
  }

  #pause(attempt: number): Promise<void> {
    return waitOnClock(this.#clock, backoffDelay(RETRY, attempt), this.#finished.signal);
  }

  /** The result of `step`, unless an answer of the network or the engine's end comes first. */
  #unlessAnswered(step: Promise<SendResult | undefined | void>): Promise<SendResult | undefined> {
    return Promise.race([this.#answer.promise, step.then((result) => result ?? undefined)]);
  }

  #abandon(): SendResult {
    return { kind: this.#attempted ? 'kept' : 'returned' };
  }
}

/**
 * Rejects if another engine owns the message or the gate has closed, so that its stanza never leaves. Refused later, at
 * the socket, its frame would already have taken a number of the cipher, and the connection would have to close.
 */
function confirmStored(dropped: SendResult | undefined, gate: Gate): void {
  if (dropped || !gate.open) throw SendFailure.notWritten();
  failpoint('engine.before-send');
}

function failed(code: FailureCode, message: string | null): SendResult {
  return { kind: 'failed', at: new Date().toISOString(), error: { code, message } };
}
