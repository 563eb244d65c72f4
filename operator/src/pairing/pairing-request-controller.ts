import type { Logger } from '@gwk/core/log';
import type { OperatorResponse } from '@gwk/core/protocol/operator';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import {
  readPairingRequest,
  type PairingView,
  type PairingRequest,
} from '@gwk/core/resources/pairing-request';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Target } from '../cluster/cluster.js';
import type { InternalApiClient } from '../controller/internal-api-client.js';

export interface PairingRequestControllerOptions {
  port: Pick<InternalApiClient, 'pair'>;
  /** Puts up what is to be seen; null takes it down. Repeatable. */
  show: (target: Target, view: PairingView | null) => Promise<void>;
  log: Logger;
}

interface Serving {
  wish: PairingRequest;
  over: AbortController;
  done: Promise<void>;
  /** Another wish that came meanwhile. */
  next: PairingRequest | null;
}

/** How often it is looked for the next code. */
const LOOK_MS = 1000;
/** A wish is heeded no longer, whatever it says of itself: it is written by whoever may change the resource. */
const MAX_SERVED_MS = 600_000;
/** Wishes that are over and not yet taken off their resource. */
const MAX_REMEMBERED = 10_000;

/**
 * Serves wishes for pairing (`gwk pair`) beside the reconcile, which only tells it what it sees: opening a session
 * makes an engine wanted, and the reconcile starts it. Everything here may be forgotten: an operator that starts anew
 * finds the wish on the resource, and the session open.
 */
export class PairingRequestController {
  readonly #options: PairingRequestControllerOptions;
  /** By uid. */
  readonly #serving = new Map<string, Serving>();
  /** Ids of wishes that are over, by uid. */
  readonly #over = new Map<string, string>();
  #closed = false;

  constructor(options: PairingRequestControllerOptions) {
    this.#options = options;
  }

  /** Must be cheap: it is told of every instance at every pass. */
  look(target: Target, resource: InstanceResource, instanceId: string): void {
    const wish = readPairingRequest(resource.metadata.annotations);
    const serving = this.#serving.get(target.uid);
    if (serving && serving.wish.id !== wish?.id) {
      serving.next = wish;
      serving.over.abort();
    }
    if (!serving && wish) this.#begin(target, wish, instanceId);
  }

  /** Its resource goes, or may have no number any more. */
  leave(uid: string): void {
    const serving = this.#serving.get(uid);
    if (!serving) return;
    serving.next = null;
    serving.over.abort();
  }

  /** Of resources that somebody let go of by force. */
  leaveAllBut(uids: Set<string | undefined>): void {
    for (const uid of this.#serving.keys()) if (!uids.has(uid)) this.leave(uid);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { over } of this.#serving.values()) over.abort();
    await Promise.all([...this.#serving.values()].map(({ done }) => done));
  }

  #begin(target: Target, wish: PairingRequest, instanceId: string): void {
    if (this.#closed || this.#over.get(target.uid) === wish.id) return;
    const over = new AbortController();
    const done = this.#serve(target, wish, { instanceId, signal: over.signal }).finally(() => {
      const next = this.#serving.get(target.uid)?.next;
      this.#serving.delete(target.uid);
      this.#remember(target.uid, wish.id);
      if (next) this.#begin(target, next, instanceId);
    });
    this.#serving.set(target.uid, { wish, over, done, next: null });
  }

  async #serve(
    target: Target,
    wish: PairingRequest,
    { instanceId, signal }: { instanceId: string; signal: AbortSignal },
  ): Promise<void> {
    const { port, show, log } = this.#options;
    const until = Math.min(Date.parse(wish.until), Date.now() + MAX_SERVED_MS);
    let [opened, shown] = [false, ''];
    while (!signal.aborted && Date.now() < until) {
      try {
        const { method, phone } = wish;
        const now = await port.pair(instanceId, opened ? null : { method, phone });
        opened = true;
        const step = buildPairingView(wish, now);
        if (step === 'paired') break;
        const text = JSON.stringify(step.view);
        if (text !== shown) await show(target, step.view);
        shown = text;
        // What went wrong stays to be read until whoever wished has read it.
      } catch (error) {
        log.info({ instance: target.key, err: error }, 'a pairing could not be looked after; trying again');
      }
      await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    }
    await show(target, null).catch((error: unknown) =>
      log.info({ instance: target.key, err: error }, 'what was put up for a pairing could not be taken down'),
    );
  }

  #remember(uid: string, wish: string): void {
    this.#over.set(uid, wish);
    const [oldest] = this.#over.keys();
    if (this.#over.size > MAX_REMEMBERED && oldest !== undefined) this.#over.delete(oldest);
  }
}

type Seen = OperatorResponse<'pair'>;

/** What there is to show of a pairing for this wish. */
export function buildPairingView(
  { id, method }: PairingRequest,
  { state, open, code, code_expires_at: expiresAt, error }: Seen,
): 'paired' | { view: PairingView } {
  const paired = state !== 'pending_pair' && state !== 'logged_out';
  if (paired) return 'paired';
  const why = open ? null : (error ?? 'the pairing was closed');
  return { view: { request: id, method, code, expiresAt, error: why } };
}
