import { setImmediate as nextTurn } from 'node:timers/promises';
import { failpoint } from '@gwk/core/process/failpoints';
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
/** The limit while the network refuses the members of a group. Each attempt asks it for the group again. */
const REFUSED_MEMBERS_MS = 60_000;
const REFUSED_MEMBERS: readonly (string | null)[] = ['420', '421'];
const RETRY = { firstMs: 250, maxMs: 10_000 };
/**
 * After these attempts the message returns to the queue, so that it does not block its conversation in this engine.
 */
const MAX_BUILD_ATTEMPTS = 4;

/** How far a message has come. */
type Progress =
  | { step: 'claimed' }
  | { step: 'built'; form: EncodedMessage }
  /** Stored by this engine. */
  | { step: 'stored'; form: EncodedMessage }
  /**
   * Given to the socket, by this engine or an earlier one, so it may have reached the network.
   * `unanswered`: attempts that got no answer yet.
   */
  | { step: 'written'; form: EncodedMessage; unanswered: number };

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
  #progress: Progress;
  readonly #clock: Clock;
  /** Time since the first attempt by an earlier engine, because the limit of refusals counts from it. */
  readonly #triedBeforeMs: number;
  /** Time of the first refusal by the network. */
  #refusedSince: number | undefined;
  readonly #answer = Promise.withResolvers<SendResult>();

  constructor(message: ClaimedMessage, context: SendContext) {
    this.message = message;
    this.#context = context;
    this.#clock = context.clock ?? processClock;
    this.#progress = restoreProgress(message);
    const firstAt = message.attempted_at === null ? Date.now() : Date.parse(message.attempted_at);
    this.#triedBeforeMs = Math.max(0, Date.now() - firstAt);
  }

  get attempted(): boolean {
    return this.#progress.step === 'written';
  }

  /** Never rejects. */
  async run(): Promise<SendResult> {
    const end = (): void => this.#answer.resolve(this.#abandon());
    const { ended } = this.#context.gate;
    ended.addEventListener('abort', end);
    try {
      const form = await this.#prepare();
      return form ? await this.#sendUntilFinished(form) : this.#abandon();
    } catch (error) {
      if (error instanceof SendFailure) return failed(error.code, error.text);
      return this.#context.gate.stopping ? this.#abandon() : failed('internal', null);
    } finally {
      ended.removeEventListener('abort', end);
      this.#finished.abort(FINISHED);
    }
  }

  /** Undefined when it cannot be sent now. */
  async #prepare(): Promise<EncodedMessage | undefined> {
    if (!this.#context.gate.mayBegin && !this.attempted) return undefined;
    if (this.#progress.step !== 'claimed') return this.#progress.form;
    const span = this.#startSpan('build');
    const form = await this.#build().finally(() => span.end());
    if (form) this.#progress = { step: 'built', form };
    return form;
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

  async #store(form: EncodedMessage): Promise<SendResult | undefined> {
    const { message_id } = this.message;
    const { bytes, rendered_as, menu, card } = form;
    const span = this.#startSpan('store');
    const stored = this.#context.storeBuilt({
      message_id,
      built: bytes.toString('base64'),
      rendered_as,
      menu,
      ...(card && { card: card.toString('base64') }),
    });
    const isOurs = await stored.finally(() => span.end());
    if (this.#progress.step === 'built') this.#progress = { step: 'stored', form };
    return isOurs ? undefined : { kind: 'dropped' };
  }

  async #sendUntilFinished(form: EncodedMessage): Promise<SendResult> {
    const { gate } = this.#context;
    for (let attempt = 1; ; attempt++) {
      if (!gate.mayBegin) {
        if (!this.attempted || gate.stopping) return this.#abandon();
        const concluded = await this.#unlessAnswered(gate.waitUntilOpen());
        if (concluded) return concluded;
        continue;
      }
      if (attempt > 1) {
        this.#context.resending(this.message, attempt);
        const concluded = await this.#unlessAnswered(this.#store(form));
        if (concluded) return concluded;
        if (!gate.mayBegin) continue;
      }
      const concluded = await this.#attempt(attempt, form);
      if (concluded) return concluded;
    }
  }

  /** Makes one attempt. Undefined when no answer came in time. */
  async #attempt(attempt: number, form: EncodedMessage): Promise<SendResult | undefined> {
    const { driver, gate, ackTimeoutMs } = this.#context;
    const { bytes, rendered_as } = form;
    const mustStore = this.#progress.step === 'built';
    const storing = mustStore ? this.#store(form) : Promise.resolve(undefined);
    const stored = storing.then((dropped) => confirmStored(dropped, gate));
    // An attempt that fails earlier does not wait for it.
    stored.catch(() => undefined);
    // The call that stores it leaves at the end of this turn. Otherwise it would leave only after the encryption.
    if (mustStore) await nextTurn();
    let isWritten = false;
    let span = this.#startSpan('encrypt');
    const sending = driver.send({
      waMessageId: this.message.wa_message_id,
      chat: this.message.chat,
      bytes,
      stored,
      mayWrite: () => {
        if (!gate.open) return false;
        if (!isWritten) this.#countUnanswered(1, form);
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
      (error: unknown) => {
        if (isWritten && isAnswer(error)) this.#countUnanswered(-1, form);
        return this.#handleFailure(error, attempt, isWritten);
      },
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
    if (isAnswer(error) && error.limitsRate) this.#context.rateLimited();
    if (isAnswer(error) && this.#isFinal(error)) {
      // An earlier attempt may have arrived. Only a timeout is corrected by its receipt.
      const isUnconfirmed = !isWritten && this.#unanswered > 0;
      this.#answer.resolve(failed(isUnconfirmed ? 'timeout' : error.code, error.text));
      return;
    }
    if (this.#context.gate.open) await this.#pause(attempt);
  }

  get #unanswered(): number {
    return this.#progress.step === 'written' ? this.#progress.unanswered : 0;
  }

  #countUnanswered(change: 1 | -1, form: EncodedMessage): void {
    this.#progress = { step: 'written', form, unanswered: this.#unanswered + change };
  }

  /** The network may refuse a message for a time. It has not accepted it, so another attempt cannot duplicate it. */
  #isFinal({ retriable, code, networkCode }: SendFailure): boolean {
    if (!retriable || code !== 'wa_error') return !retriable;
    this.#refusedSince ??= this.#clock.now() - this.#triedBeforeMs;
    const limitMs = REFUSED_MEMBERS.includes(networkCode) ? REFUSED_MEMBERS_MS : REFUSED_MS;
    return this.#clock.now() - this.#refusedSince >= limitMs;
  }

  #pause(attempt: number): Promise<void> {
    return waitOnClock(this.#clock, backoffDelay(RETRY, attempt), this.#finished.signal);
  }

  /** The result of `step`, unless an answer of the network or the engine's end comes first. */
  #unlessAnswered(step: Promise<SendResult | undefined | void>): Promise<SendResult | undefined> {
    return Promise.race([this.#answer.promise, step.then((result) => result ?? undefined)]);
  }

  #abandon(): SendResult {
    return { kind: this.attempted ? 'kept' : 'returned' };
  }
}

/**
 * The API records the built form and an attempt together. A message that returned to the queue keeps its form and loses the
 * attempt.
 */
function restoreProgress({ built, rendered_as, attempted_at }: ClaimedMessage): Progress {
  if (built === null) return { step: 'claimed' };
  const form = { bytes: Buffer.from(built, 'base64'), rendered_as, menu: null };
  return attempted_at === null ? { step: 'built', form } : { step: 'written', form, unanswered: 1 };
}

/** The attempt did not reach the network, or the network refused it. */
function isAnswer(error: unknown): error is SendFailure {
  return error instanceof SendFailure && error.certain;
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
