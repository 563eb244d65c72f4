import type { BuiltMessageRecord, ClaimedMessage, Outcome } from '@gwk/core/protocol/engine';
import { toPublicId } from '@gwk/core/ids/public-ids';
import { tracing, type Span } from '@gwk/core/tracing/tracing';
import { SendTask, type SendContext, type SendResult } from './send-task.js';

/** The claim that the outcome of a message names. */
type Claim =
  | { kind: 'granted'; id: string; at: number }
  /** The call that stores what was built of a notified text asks for the claim. `answer` is the one to that call. */
  | { kind: 'requested'; id: string; at: number; answer?: Promise<boolean> };

type Stage =
  /** Another message of its conversation runs. */
  | { kind: 'waiting' }
  | { kind: 'running'; since: number }
  /** The message has a result, and waits until its outcome is recorded. */
  | { kind: 'ended'; isSent: boolean };

type ReturnedOutcome = Extract<Outcome, { kind: 'returned' }>;

/**
 * A message that this engine holds. `Claim`, `Stage` and the progress of its SendTask are its states:
 *
 *     claim ────────▶ claimed ──┐             running: build ▶ built ▶ stored ▶ written
 *                        ▲      ├▶ waiting ─▶ (send-task.ts)                       │
 *                 stored │      │      │                                           │ answered
 *     notified text ─▶ requested┘      └───────────── returned ───────────┐        ▼
 *                        │ refused                                        └──▶   ended ─ outcome recorded ─▶ settled
 *                        └────────────────────────── left to claims ─────────────────────────────────────────▲
 *
 * A settled message is no longer held.
 */
export class HeldMessage {
  readonly task: SendTask;
  readonly bytes: number;
  stage: Stage = { kind: 'waiting' };
  /** Stream entry of the notification that announced the message. It is deleted once the message is settled. */
  notification: string | undefined;
  /** A notification announced a later message of its conversation, which can be claimed once this one is settled. */
  hasNext = false;
  #claim: Claim;
  readonly #span: Span;

  constructor(message: ClaimedMessage, claim: Claim, context: SendContext) {
    this.bytes = message.content.length + (message.built?.length ?? 0);
    this.#claim = claim;
    this.#span = startSpan(message);
    const storeBuilt =
      claim.kind === 'granted'
        ? context.storeBuilt
        : (built: BuiltMessageRecord) => this.#storeWithClaim(context, built);
    this.task = new SendTask(message, { ...withSpan(context, this.#span), storeBuilt });
  }

  get message(): ClaimedMessage {
    return this.task.message;
  }

  get claimId(): string {
    return this.#claim.id;
  }

  get claimedAt(): number {
    return this.#claim.at;
  }

  get isUnsent(): boolean {
    return this.stage.kind === 'ended' && !this.stage.isSent;
  }

  /** A claim has brought the message, perhaps again. */
  grant(id: string, at: number): void {
    this.#claim = { kind: 'granted', id, at };
  }

  /**
   * Stores what was built, and asks for the claim in the same call. The call has these fields even if a claim has brought
   * the message meanwhile, because the API compares the timer of disappearing messages only with them.
   */
  async #storeWithClaim({ storeBuilt }: SendContext, built: BuiltMessageRecord): Promise<boolean> {
    const { timer } = this.message;
    const answer = storeBuilt({ ...built, claim: { claim_id: this.claimId, ...(timer && { timer }) } });
    if (this.#claim.kind === 'requested') this.#claim.answer = answer;
    const isOurs = await answer;
    if (isOurs) this.#claim = { ...this.#claim, kind: 'granted' };
    return isOurs;
  }

  get isClaimed(): boolean {
    return this.#claim.kind === 'granted';
  }

  /** Waits for a call in progress that asks for the claim. A claim may bring the message meanwhile. */
  async waitForClaim(): Promise<void> {
    if (this.#claim.kind === 'requested') await this.#claim.answer?.catch(() => false);
  }

  end(result: SendResult): void {
    this.stage = { kind: 'ended', isSent: result.kind === 'sent' };
  }

  /** @param result absent: nobody has claimed the message */
  endSpan(result?: SendResult): void {
    if (result) this.#span.set({ 'gwk.result': result.kind });
    this.#span.end(result?.kind === 'failed' ? result.error.code : null);
  }

  /** Undefined when there is nothing to report. */
  toOutcome(result: SendResult): Outcome | undefined {
    const { message_id } = this.message;
    const { traceparent } = this.#span;
    switch (result.kind) {
      case 'sent':
      case 'failed':
        return { ...result, message_id, ...(traceparent !== null && { traceparent }) };
      case 'returned':
        // A message that was ever written to the socket, by any engine, is kept instead.
        return { ...this.toReturned(), unsent: true };
      case 'dropped':
        // If Postgres had lost its claim, this engine may have claimed it again.
        return this.toReturned();
      case 'kept':
        return undefined;
    }
  }

  /** Returns the claim. A message that may have left stays unconfirmed. */
  toReturned(): ReturnedOutcome {
    return { kind: 'returned', message_id: this.message.message_id, claim_id: this.claimId };
  }
}

/** Spans the time from the claim to the result, including lookups and uploads. */
function startSpan({ message_id, type, traceparent }: ClaimedMessage): Span {
  if (traceparent === undefined) return tracing.child('send', null);
  const attributes = { 'gwk.message.id': toPublicId('message', message_id), 'gwk.message.type': type };
  return tracing.child('send', traceparent, { kind: 'client', attributes });
}

function withSpan(context: SendContext, span: Span): SendContext {
  if (span.traceparent === null) return context;
  const resending: SendContext['resending'] = (message, attempt) => {
    span.note('sent again', { attempt });
    context.resending(message, attempt);
  };
  return { ...context, resending, traceparent: span.traceparent };
}
