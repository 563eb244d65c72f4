import { failpoint } from '@gwk/core/failpoints';
import type { ClaimedMessage, Outcome } from '@gwk/core/protocol/engine';
import type { Logger } from '@gwk/core/log';
import { toPublicId } from '@gwk/core/public-ids';
import { tracing, type Span } from '@gwk/core/tracing/tracing';
import { SendTask, type SendResult, type SendContext } from './send-task.js';
import { KeyedQueue } from './keyed-queue.js';

interface SenderOptions extends SendContext {
  log: Logger;
  /** Stores an outcome. Resolves once stored, to whether there may be messages to claim. */
  report: (outcome: Outcome) => Promise<boolean>;
  /** An outcome is stored: its notification can be acknowledged, and another message can be claimed. */
  settled: (notification: string | undefined, waiting: boolean) => void;
  /** A claimed message was returned and used no token of the pacing. */
  returned: () => void;
  finished: (result: SendResult['kind'], tookMs: number) => void;
}

interface HeldMessage {
  delivery: SendTask;
  claimId: string;
  claimedAt: number;
  bytes: number;
  /** Stream entry of the notification that announced the message. */
  notification: string | undefined;
  span: Span;
}

/** Limits on the messages an engine holds. The others wait in Postgres, where they cost the engine nothing. */
const MAX_HELD = 500;
const MAX_HELD_BYTES = 4_000_000;
const MAX_CLAIM = 100;

/**
 * Holds the claimed messages until they are settled. Runs one of each conversation at a time and reports the
 * outcomes.
 */
export class Sender {
  readonly #options: SenderOptions;
  readonly #queue = new KeyedQueue<HeldMessage>();
  #bytes = 0;
  #idle: (() => void)[] = [];

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  get held(): number {
    return this.#queue.size;
  }

  /** Number of conversations with messages. */
  get activeConversations(): number {
    return this.#queue.activeKeys;
  }

  /** How many more messages may be claimed now. */
  get capacity(): number {
    return this.#bytes > MAX_HELD_BYTES ? 0 : Math.min(MAX_CLAIM, MAX_HELD - this.held);
  }

  /** Keeps the entry until the message is settled; false when the message is not held or has an entry already. */
  keepNotification(messageId: string, entryId: string): boolean {
    const held = this.#queue.get(messageId);
    if (!held || held.notification !== undefined) return false;
    held.notification = entryId;
    return true;
  }

  /** Drops messages that are already held: a second copy must not be sent beside the first. */
  accept(messages: ClaimedMessage[], claimId: string): void {
    for (const message of messages) {
      const bytes = message.content.length + (message.built?.length ?? 0);
      if (this.#queue.get(message.message_id)) continue;
      const span = startSpan(message);
      const delivery = new SendTask(message, this.#withSpan(span));
      const held: HeldMessage = {
        delivery,
        claimId,
        claimedAt: performance.now(),
        bytes,
        notification: undefined,
        span,
      };
      const place = this.#queue.offer(message.message_id, message.conversation_id, held);
      this.#bytes += bytes;
      if (place === 'run') void this.#run(held);
    }
  }

  #withSpan(span: Span): SendContext {
    if (span.traceparent === null) return this.#options;
    const resending: SendContext['resending'] = (message, attempt) => {
      span.note('sent again', { attempt });
      this.#options.resending(message, attempt);
    };
    return { ...this.#options, resending, traceparent: span.traceparent };
  }

  /** Resolves when no message is held. */
  async waitUntilEmpty(): Promise<void> {
    while (this.held > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #run(held: HeldMessage): Promise<void> {
    for (let next: HeldMessage | undefined = held; next;) {
      const result = await next.delivery.run();
      const { conversation_id } = next.delivery.message;
      void this.#finish(next, result);
      next = this.#queue.finish(conversation_id);
      // A returned or kept message must be the next of its conversation, so the later ones are released too.
      while (next && (result.kind === 'returned' || result.kind === 'kept')) {
        void this.#finish(next, { kind: next.delivery.attempted ? 'kept' : 'returned' });
        next = this.#queue.finish(conversation_id);
      }
    }
  }

  async #finish(held: HeldMessage, result: SendResult): Promise<void> {
    this.#options.finished(result.kind, performance.now() - held.claimedAt);
    held.span.set({ 'gwk.result': result.kind });
    held.span.end(result.kind === 'failed' ? result.error.code : null);
    const outcome = toOutcome(held, result);
    // A returned message can be claimed again at once, even by this engine, and must not be taken for a copy.
    if (result.kind === 'returned') {
      this.#forget(held);
      this.#options.returned();
    }
    try {
      const waiting = outcome ? await this.#report(outcome) : true;
      // Free the capacity first, because the next claim uses all of it.
      this.#forget(held);
      this.#options.settled(held.notification, waiting);
    } catch {
      // The client is closed, or the API refused the outcome and the batch sender logged it.
    } finally {
      this.#forget(held);
    }
  }

  async #report(outcome: Outcome): Promise<boolean> {
    if (outcome.kind === 'returned') return this.#options.report(outcome);
    failpoint('engine.before-outcome');
    const waiting = await this.#options.report(outcome);
    failpoint('engine.after-outcome');
    return waiting;
  }

  #forget(held: HeldMessage): void {
    if (this.#queue.get(held.delivery.message.message_id) !== held) return;
    this.#queue.forget(held.delivery.message.message_id);
    this.#bytes -= held.bytes;
    if (this.held === 0) for (const resume of this.#idle.splice(0)) resume();
  }
}

/** Spans the time from the claim to the result, including lookups and uploads. */
function startSpan({ message_id, type, traceparent }: ClaimedMessage): Span {
  if (traceparent === undefined) return tracing.child('send', null);
  const attributes = { 'gwk.message.id': toPublicId('message', message_id), 'gwk.message.type': type };
  return tracing.child('send', traceparent, { kind: 'client', attributes });
}

/** Undefined when nothing is to be reported. */
function toOutcome(held: HeldMessage, result: SendResult): Outcome | undefined {
  const { message_id } = held.delivery.message;
  const { traceparent } = held.span;
  switch (result.kind) {
    case 'sent':
    case 'failed':
      return { ...result, message_id, ...(traceparent !== null && { traceparent }) };
    case 'returned':
      // A message that was ever written to the socket, by any engine, is kept instead.
      return { kind: 'returned', message_id, claim_id: held.claimId, unsent: true };
    case 'dropped':
    case 'kept':
      return undefined;
  }
}
