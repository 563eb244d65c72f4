import { processClock } from '@gwk/core/clock';
import { resolvesWithin } from '@gwk/core/async/timeout';
import type { Logger } from '@gwk/core/process/log';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import type { NotifiedMessage } from '@gwk/core/protocol/notified-messages';
import { tracing } from '@gwk/core/tracing/tracing';
import type { Driver } from '../driver/driver.js';
import type { BatchSenders } from '../internal-api/batch-senders.js';
import type { InternalApiClient } from '../internal-api/client.js';
import type { EngineMetrics } from '../metrics.js';
import { Claimer } from './claimer.js';
import { NotifiedTexts } from './fast/notified-texts.js';
import { Gate } from './gate.js';
import { Pacing } from './pacing.js';
import { RateLimitPause } from './rate-limit-pause.js';
import { Sender } from './sender.js';

interface SendQueueOptions {
  driver: Driver;
  api: InternalApiClient;
  senders: BatchSenders;
  metrics: EngineMetrics;
  log: Logger;
  /** Connected, and the lease is valid. */
  isOpen: () => boolean;
  messagesPerMinute: number;
  ackTimeoutMs: number;
  idleClaimMs: number;
  /** A message is settled: its notification can be deleted. */
  settled: (notification: string) => void;
  /** A message has a result. */
  finished: () => void;
}

/**
 * The sends of an engine:
 *
 *     notify ─▶ claimer ─ claim ─▶ sender ─▶ send-task (one for each message) ─▶ driver
 *                  ▲ pacing           ▲  │
 *     take ─▶ fast/notified-texts ────┘  └─▶ settled: the next claim
 *
 * The gate stands before every attempt.
 */
export class SendQueue {
  readonly #options: SendQueueOptions;
  readonly gate: Gate;
  readonly #pause: RateLimitPause;
  readonly #pacing: Pacing;
  readonly #claimer: Claimer;
  readonly #sender: Sender;
  readonly #texts: NotifiedTexts;
  /** Trace of the notification that caused the next claim. */
  #claimTraceparent: string | null = null;

  constructor(options: SendQueueOptions) {
    this.#options = options;
    this.#pause = new RateLimitPause(processClock, () => this.recheck());
    this.gate = new Gate(options.isOpen, () => this.#pause.isActive);
    this.#pacing = new Pacing(options.messagesPerMinute, performance.now());
    this.#sender = this.#createSender();
    this.#texts = new NotifiedTexts(this.#sender, processClock);
    this.#claimer = new Claimer({
      pacing: this.#pacing,
      idleClaimMs: options.idleClaimMs,
      open: () => this.gate.mayBegin,
      capacity: () => this.#sender.capacity,
      claim: (claimId, limit) => this.#claim(claimId, limit),
      accept: (messages, claimId) => {
        this.#texts.recordClaim(messages);
        this.#sender.accept(messages, claimId);
      },
    });
  }

  get held(): number {
    return this.#sender.held;
  }

  get activeConversations(): number {
    return this.#sender.activeConversations;
  }

  start(): void {
    this.#claimer.start();
  }

  /** There may be messages to claim, for example because the connection has opened. */
  notify(): void {
    this.gate.recheck();
    this.#claimer.notify();
  }

  /**
   * Claims messages that a notification announced.
   * Resolves when a claim that begins after this call is answered, or when none is possible now.
   * @param traceparent parent of the claim's span
   */
  notifyAndWait(traceparent?: string | null): Promise<void> {
    if (traceparent !== undefined) this.#claimTraceparent = traceparent;
    return this.#claimer.notifyAndWait();
  }

  /** Call after a condition for sending may have improved. */
  recheck(): void {
    this.gate.recheck();
    this.#claimer.recheck();
  }

  setRate(messagesPerMinute: number): void {
    this.#pacing.setRate(messagesPerMinute, performance.now());
    this.recheck();
  }

  /**
   * Decides about new messages that came with this entry of the stream.
   * - kept: they are being built, and the entry stays until they are settled
   * - done: they need no claim now
   * - claim: they must be claimed
   */
  take(messages: readonly NotifiedMessage[], entry: string): 'kept' | 'done' | 'claim' {
    const plan = this.#texts.decide(messages);
    if (plan !== 'build') return plan === 'claim' ? 'claim' : 'done';
    if (!this.#claimer.takeTokens(messages.length)) return 'claim';
    this.#texts.build(messages, entry);
    return 'kept';
  }

  /** Keeps an entry until its message is settled; false when no such message is held. */
  keepNotification(messageId: string, entry: string): boolean {
    return this.#sender.keepNotification(messageId, entry);
  }

  /** The network limits the rate of messages. */
  handleRateLimit(): void {
    const { metrics, log } = this.#options;
    const ms = this.#pause.begin();
    if (ms === null) return;
    metrics.rateLimitPauses.inc();
    log.warn({ ms }, 'the network limits the rate of messages; pausing all sends');
  }

  /** Claims nothing new, and lets the sends in progress finish within `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    this.gate.stop();
    await resolvesWithin(
      this.#claimer.stop().then(() => this.#sender.waitUntilEmpty()),
      limitMs,
    );
    this.end();
  }

  /** Stops waiting for the sends in progress. */
  end(): void {
    this.gate.end();
  }

  #createSender(): Sender {
    const { driver, senders, metrics, log, ackTimeoutMs, settled, finished } = this.#options;
    return new Sender({
      driver,
      gate: this.gate,
      ackTimeoutMs,
      storeBuilt: (built) => senders.built.push(built),
      report: (outcome) => senders.outcomes.push(outcome),
      settled: (notification, waiting) => {
        if (notification !== undefined) settled(notification);
        if (waiting) this.#claimer.notify();
        else this.#claimer.recheck();
      },
      returned: () => this.#pacing.giveBack(1),
      finished: (result, ms) => {
        finished();
        if (result === 'sent') this.#pause.reset();
        metrics.finished(result, ms);
      },
      rateLimited: () => this.handleRateLimit(),
      resending: (message, attempt) => {
        metrics.resends.inc();
        log.warn({ message_id: message.message_id, attempt }, 'message unconfirmed; sending it again');
      },
    });
  }

  async #claim(claimId: string, limit: number): Promise<ClaimedMessage[]> {
    const { api, metrics } = this.#options;
    const span = tracing.child('claim', this.#claimTraceparent, { kind: 'client' });
    this.#claimTraceparent = null;
    const followers = this.#sender.wantsFollowers;
    const claim = api.claim(claimId, { limit, followers }, span.traceparent);
    const messages = await claim.finally(() => span.end());
    metrics.claims.inc();
    return messages;
  }
}
