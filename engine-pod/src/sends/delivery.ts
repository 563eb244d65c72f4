import { failpoint } from '@gwk/core/failpoints';
import type { SentMenu } from '@gwk/core/menus/sent-menu';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import type { FailureCode, Rendering } from '@gwk/core/states';
import { backoffDelay } from '../backoff.js';
import { processClock, type Clock } from '@gwk/core/clock';
import { waitOnClock } from '../clock.js';
import { SendFailure, type EncodedMessage, type Driver } from '../driver/driver.js';
import type { Gate } from './gate.js';

export interface BuiltMessageRecord {
  message_id: string;
  built: string;
  rendered_as: Rendering | null;
  menu: SentMenu | null;
}

export type DeliveryResult =
  | { kind: 'sent'; at: Date; rendered_as: Rendering | null }
  | { kind: 'failed'; at: Date; code: FailureCode; text: string | null }
  /** Never given to the socket: it goes back to the queue. */
  | { kind: 'returned' }
  /** The row says that it is no longer this engine's to send. */
  | { kind: 'dropped' }
  /** In doubt as the engine ends: it stays claimed, and the next engine sends the same again. */
  | { kind: 'kept' };

export interface DeliveryContext {
  driver: Driver;
  gate: Gate;
  ackTimeoutMs: number;
  /** Stores what was built, or finds it stored; false when the message is no longer to be sent. */
  storeBuilt: (built: BuiltMessageRecord) => Promise<boolean>;
  resending: (message: ClaimedMessage, attempt: number) => void;
  clock?: Clock;
}

/** Told to whom still works for a message that is concluded. One for all: each error collects a stack. */
const FINISHED = new Error('the message is concluded');
const RETRY = { first: 250, most: 10_000 };
/** Then it goes back, so that its conversation is not held for ever by an engine that has no luck with it. */
const MAX_BUILD_ATTEMPTS = 4;

/**
 * One message, from the claim to its conclusion:
 *
 *     build ─▶ store ─▶ ┌ gate open? ─▶ give to the network ─▶ acknowledged ─▶ sent
 *                       │     │ no            │ refused ─────────────────────▶ failed
 *                       │     ▼               │ no answer, or the socket closed: doubt
 *                       │  never given:       ▼
 *                       │  returned        still ours? ──no──▶ dropped
 *                       └───────────────────── yes
 *
 * From the moment it was given to the socket a message is in doubt until an answer comes, and only its stored bytes
 * are sent, under the same id. An answer to any of the attempts counts. Doubt ends by the row (the worker fails it
 * after its time), so the row is asked before every repetition.
 */
export class Delivery {
  readonly message: ClaimedMessage;
  readonly #context: DeliveryContext;
  readonly #finished = new AbortController();
  /** It may have reached the network, now or under an earlier engine. */
  #attempted: boolean;
  #bytes!: Buffer;
  #rendered_as: Rendering | null;
  #menu: SentMenu | null = null;
  readonly #clock: Clock;
  readonly #answered: Promise<DeliveryResult>;
  #answer!: (conclusion: DeliveryResult) => void;

  constructor(message: ClaimedMessage, context: DeliveryContext) {
    this.message = message;
    this.#context = context;
    this.#clock = context.clock ?? processClock;
    this.#attempted = message.attempted_at !== null;
    this.#rendered_as = message.rendered_as;
    this.#answered = new Promise((resolve) => (this.#answer = resolve));
  }

  get attempted(): boolean {
    return this.#attempted;
  }

  /** Never rejects. */
  async run(): Promise<DeliveryResult> {
    const end = (): void => this.#answer(this.#abandon());
    this.#context.gate.onEnd(end);
    try {
      const early = await this.#prepare();
      return early ?? (await this.#sendUntilFinished());
    } catch (error) {
      if (error instanceof SendFailure) return failed(error.code, error.text);
      return this.#context.gate.stopping ? this.#abandon() : failed('internal', null);
    } finally {
      this.#context.gate.offEnd(end);
      this.#finished.abort(FINISHED);
    }
  }

  async #prepare(): Promise<DeliveryResult | undefined> {
    const { message } = this;
    if (!this.#context.gate.open && !this.#attempted) return { kind: 'returned' };
    if (message.built !== null) {
      this.#bytes = Buffer.from(message.built, 'base64');
      // The claim has just said that it is ours; bytes stored by a former engine need not be stored again.
      if (message.attempted_at !== null) return undefined;
    } else {
      const built = await this.#build();
      if (!built) return this.#abandon();
      this.#bytes = built.bytes;
      this.#rendered_as = built.rendered_as;
      this.#menu = built.menu;
    }
    return (await this.#store()) ? undefined : { kind: 'dropped' };
  }

  /** Undefined where it cannot be built now: nothing of it has left. @throws SendFailure, not to be tried again */
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

  #store(): Promise<boolean> {
    return this.#context.storeBuilt({
      message_id: this.message.message_id,
      built: this.#bytes.toString('base64'),
      rendered_as: this.#rendered_as,
      menu: this.#menu,
    });
  }

  async #sendUntilFinished(): Promise<DeliveryResult> {
    const { gate } = this.#context;
    for (let attempt = 1; ; attempt++) {
      if (!gate.open) {
        if (!this.#attempted || gate.stopping) return this.#abandon();
        const concluded = await this.#unlessAnswered(gate.waitUntilOpen());
        if (concluded) return concluded;
        continue;
      }
      if (attempt > 1) {
        this.#context.resending(this.message, attempt);
        const concluded = await this.#unlessAnswered(this.#storeBeforeResend());
        if (concluded) return concluded;
        if (!gate.open) continue;
      }
      const concluded = await this.#attempt(attempt);
      if (concluded) return concluded;
    }
  }

  async #storeBeforeResend(): Promise<DeliveryResult | undefined> {
    return (await this.#store()) ? undefined : { kind: 'dropped' };
  }

  /** One attempt; undefined when it brought no answer in its time. */
  async #attempt(attempt: number): Promise<DeliveryResult | undefined> {
    const { driver, gate, ackTimeoutMs } = this.#context;
    failpoint('engine.before-send');
    const sending = driver.send({
      waMessageId: this.message.wa_message_id,
      chat: this.message.chat,
      bytes: this.#bytes,
      mayWrite: () => {
        if (!gate.open) return false;
        this.#attempted = true;
        return true;
      },
      signal: this.#finished.signal,
    });
    const unanswered = sending.then(
      () => this.#answer({ kind: 'sent', at: new Date(), rendered_as: this.#rendered_as }),
      (error: unknown) => this.#handleFailure(error, attempt),
    );
    // Not a timer that is aborted: each message would pay for an error with its stack.
    let cancel = (): void => undefined;
    const timeout = new Promise<void>((resolve) => (cancel = this.#clock.after(ackTimeoutMs, resolve)));
    try {
      return await this.#unlessAnswered(Promise.race([unanswered, timeout]));
    } finally {
      cancel();
    }
  }

  /** Ends the message where the answer is final; else waits a little, for the next attempt. */
  async #handleFailure(error: unknown, attempt: number): Promise<void> {
    if (error instanceof SendFailure && error.certain && !error.retriable) {
      this.#answer(failed(error.code, error.text));
      return;
    }
    if (this.#context.gate.open) await this.#pause(attempt);
  }

  #pause(attempt: number): Promise<void> {
    return waitOnClock(this.#clock, backoffDelay(RETRY, attempt), this.#finished.signal);
  }

  /** What `step` brings, unless an answer of the network, or the engine's end, comes first. */
  #unlessAnswered(step: Promise<DeliveryResult | undefined | void>): Promise<DeliveryResult | undefined> {
    return Promise.race([this.#answered, step.then((conclusion) => conclusion ?? undefined)]);
  }

  #abandon(): DeliveryResult {
    return { kind: this.#attempted ? 'kept' : 'returned' };
  }
}

function failed(code: FailureCode, text: string | null): DeliveryResult {
  return { kind: 'failed', at: new Date(), code, text };
}
