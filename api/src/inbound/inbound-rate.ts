import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { Logger } from '@gwk/core/process/log';
import { audit } from '../accounts/audit-log.js';
import type { Database } from '../database/database.js';
import { RefusalError } from '../fencing/refusal.js';

/** Received messages, calls, changes of groups and of the state, and their bytes. */
export interface InboundAmount {
  events: number;
  bytes: number;
}

/** The burst is the backlog of a number that was offline for days. */
export const INBOUND_BURST: InboundAmount = { events: 20_000, bytes: 64_000_000 };
export const INBOUND_PER_SECOND: InboundAmount = { events: 100, bytes: 200_000 };
/** Longer than a bucket needs to be full again. */
const FORGET_MS = 600_000;
const REPORT_MS = 3_600_000;
const MAX_INSTANCES = 50_000;
const ACTION = 'instance.inbound-limited';

interface Bucket extends InboundAmount {
  at: number;
}

interface InboundRateDeps {
  database: Database;
  log: Logger;
  now?: () => number;
}

/**
 * Limits what each engine reports for events, because events of real traffic have no other limit. The engine keeps the
 * messages and tries again, and the audit log of the account says so once an hour.
 */
export class InboundRate {
  readonly #now: () => number;
  readonly #buckets: ExpiringMap<Bucket>;
  readonly #reported: ExpiringMap<true>;

  constructor(private readonly deps: InboundRateDeps) {
    this.#now = deps.now ?? (() => performance.now());
    this.#buckets = new ExpiringMap({ max: MAX_INSTANCES, ttlMs: FORGET_MS }, this.#now);
    this.#reported = new ExpiringMap({ max: MAX_INSTANCES, ttlMs: REPORT_MS }, this.#now);
  }

  /** @throws RefusalError `unavailable`. A single report is never refused for its size. */
  async take(instanceId: string, amount: InboundAmount): Promise<void> {
    const now = this.#now();
    const left = refill(this.#buckets.get(instanceId), now);
    if (left.events <= 0 || left.bytes <= 0) {
      await this.#report(instanceId);
      throw new RefusalError('unavailable', { retry_after_ms: waitMs(left) });
    }
    this.#buckets.set(instanceId, {
      ...{ events: left.events - amount.events, bytes: left.bytes - amount.bytes, at: now },
    });
  }

  async #report(instanceId: string): Promise<void> {
    if (this.#reported.get(instanceId)) return;
    this.#reported.set(instanceId, true);
    const { database, log } = this.deps;
    log.warn(
      { instance: instanceId },
      'an engine reports more received messages than its limit; it must wait',
    );
    const instance = await database.instance.findUnique({
      where: { id: instanceId },
      select: { accountId: true },
    });
    if (instance === null) return;
    const detail = {
      events_per_second: INBOUND_PER_SECOND.events,
      bytes_per_second: INBOUND_PER_SECOND.bytes,
    };
    await audit(database, {
      ...{ actor: 'gwk:api', accountId: instance.accountId, action: ACTION, subject: instanceId, detail },
    });
  }
}

export function refill(bucket: Bucket | undefined, now: number): InboundAmount {
  if (!bucket) return INBOUND_BURST;
  const seconds = (now - bucket.at) / 1_000;
  const fill = (part: keyof InboundAmount) =>
    Math.min(INBOUND_BURST[part], bucket[part] + seconds * INBOUND_PER_SECOND[part]);
  return { events: fill('events'), bytes: fill('bytes') };
}

/** Time until both parts are above 0, at most 10 s: an engine that waits longer looks stuck. */
function waitMs({ events, bytes }: InboundAmount): number {
  const seconds = Math.max(-events / INBOUND_PER_SECOND.events, -bytes / INBOUND_PER_SECOND.bytes);
  return Math.min(10_000, Math.max(1_000, Math.ceil(seconds * 1_000)));
}
