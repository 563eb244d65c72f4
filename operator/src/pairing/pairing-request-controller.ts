import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { Logger } from '@gwk/core/process/log';
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

interface PairingRequestControllerOptions {
  api: Pick<InternalApiClient, 'pair'>;
  /** Publishes the state of a pairing; null removes it. Idempotent. */
  publish: (target: Target, view: PairingView | null) => Promise<void>;
  /** Removes a request from its resource, because it contains a phone number. */
  remove: (target: Target, request: PairingRequest) => Promise<void>;
  log: Logger;
}

interface ActiveRequest {
  request: PairingRequest;
  abort: AbortController;
  done: Promise<void>;
  /** A newer request that arrived meanwhile. */
  next: PairingRequest | null;
}

/** Interval of polling the API for the next code. */
const POLL_MS = 1000;
/** Maximum lifetime of a request, whatever its `until` says: anybody who may change the resource can write it. */
const MAX_SERVED_MS = 600_000;
/** Finished requests whose annotation may still exist. */
const MAX_REMEMBERED = 10_000;

/**
 * Serves pairing requests (`gwk pair`) beside the reconcile loop, which reports the resources it sees. Opening a
 * session makes the instance need an engine, which the reconcile loop starts. All state here may be lost: a new
 * operator finds the request on the resource and the open session in the API.
 */
export class PairingRequestController {
  readonly #options: PairingRequestControllerOptions;
  /** Keyed by uid. */
  readonly #active = new Map<string, ActiveRequest>();
  /** Ids of finished requests, by uid. */
  readonly #finished = new ExpiringMap<string>({ max: MAX_REMEMBERED, ttlMs: Infinity });
  #closed = false;

  constructor(options: PairingRequestControllerOptions) {
    this.#options = options;
  }

  /** Must be cheap: every reconcile of every instance calls it. */
  observe(target: Target, resource: InstanceResource, instanceId: string): void {
    const request = readPairingRequest(resource.metadata.annotations);
    const active = this.#active.get(target.uid);
    if (active && active.request.id !== request?.id) {
      active.next = request;
      active.abort.abort();
    }
    if (!active && request) this.#start(target, request, instanceId);
  }

  /** The resource is being deleted, or its account no longer accepts it. */
  cancel(uid: string): void {
    const active = this.#active.get(uid);
    if (!active) return;
    active.next = null;
    active.abort.abort();
  }

  /** Cancels requests of resources whose finalizer somebody removed by hand. */
  retainOnly(uids: Set<string | undefined>): void {
    for (const uid of this.#active.keys()) if (!uids.has(uid)) this.cancel(uid);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const { abort } of this.#active.values()) abort.abort();
    await Promise.all([...this.#active.values()].map(({ done }) => done));
  }

  #start(target: Target, request: PairingRequest, instanceId: string): void {
    if (this.#closed || this.#finished.get(target.uid) === request.id) return;
    const abort = new AbortController();
    const done = this.#serve(target, request, { instanceId, signal: abort.signal }).finally(() => {
      const next = this.#active.get(target.uid)?.next;
      this.#active.delete(target.uid);
      this.#finished.set(target.uid, request.id);
      if (next) this.#start(target, next, instanceId);
    });
    this.#active.set(target.uid, { request, abort, done, next: null });
  }

  async #serve(
    target: Target,
    request: PairingRequest,
    { instanceId, signal }: { instanceId: string; signal: AbortSignal },
  ): Promise<void> {
    const { api, publish, remove, log } = this.#options;
    const until = Math.min(Date.parse(request.until), Date.now() + MAX_SERVED_MS);
    let [opened, shown] = [false, ''];
    while (!signal.aborted && Date.now() < until) {
      try {
        const { method, phone } = request;
        const now = await api.pair(instanceId, opened ? null : { method, phone });
        opened = true;
        const step = buildPairingView(request, now);
        if (step === 'paired') break;
        const text = JSON.stringify(step.view);
        if (text !== shown) await publish(target, step.view);
        shown = text;
        // An error stays published until the user's command has read it.
      } catch (error) {
        log.info({ instance: target.key, err: error }, 'pairing request failed; retrying');
      }
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
    await publish(target, null).catch((error: unknown) =>
      log.info({ instance: target.key, err: error }, 'published pairing state not removed'),
    );
    // The next operator continues to serve the request.
    if (this.#closed) return;
    await remove(target, request).catch((error: unknown) =>
      log.info({ instance: target.key, err: error }, 'pairing request not removed'),
    );
  }
}

type Seen = OperatorResponse<'pair'>;

/** Builds the published view of a pairing. */
export function buildPairingView(
  { id, method }: PairingRequest,
  { state, open, code, code_expires_at: expiresAt, error, passkey }: Seen,
): 'paired' | { view: PairingView } {
  const paired = state !== 'pending_pair' && state !== 'logged_out';
  if (paired) return 'paired';
  const why = open ? null : (error ?? 'the pairing was closed');
  return { view: { request: id, method, code, expiresAt, error: why, passkey } };
}
