import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { Database } from '../database/database.js';
import { RefusalError } from '../fencing/refusal.js';

/**
 * Keys for each MB of the limit. An ordinary key has about 1 kB: the session with a device of a contact.
 */
const KEYS_PER_MB = 2_000;
const MB = 1024 * 1024;
/** Other processes write too, so a measurement is not used for long. */
const FRESH_MS = 600_000;
const MAX_INSTANCES = 50_000;

interface Size {
  bytes: number;
  keys: number;
}

/**
 * Bounds the stored session of an instance: a compromised engine could fill Postgres. Writes are counted from the last
 * measurement, as if each were new, and the session is measured again once the count exceeds the limit.
 */
export class SessionBound {
  readonly #sizes = new ExpiringMap<Size>({ max: MAX_INSTANCES, ttlMs: FRESH_MS });

  constructor(
    private readonly database: Pick<Database, '$queryRaw'>,
    private readonly maxMb: number,
  ) {}

  /** @throws RefusalError `session-full` */
  async count(instanceId: string, added: Size): Promise<void> {
    // Removing keys is always possible.
    if (added.keys === 0) return;
    const known = this.#sizes.get(instanceId);
    const size = known && this.#fits(known, added) ? known : await this.#measure(instanceId);
    if (!this.#fits(size, added)) throw new RefusalError('session-full');
    this.#sizes.set(instanceId, { bytes: size.bytes + added.bytes, keys: size.keys + added.keys });
  }

  #fits(size: Size, added: Size): boolean {
    return size.bytes + added.bytes <= this.maxMb * MB && size.keys + added.keys <= this.maxMb * KEYS_PER_MB;
  }

  async #measure(instanceId: string): Promise<Size> {
    const [measured] = await this.database.$queryRaw<[{ bytes: bigint; keys: bigint }]>`
      SELECT coalesce(sum(octet_length(value_sealed) + octet_length(type) + octet_length(key)), 0)::bigint AS bytes,
        count(*) AS keys
      FROM session_keys WHERE instance_id = ${instanceId}::uuid`;
    return { bytes: Number(measured.bytes), keys: Number(measured.keys) };
  }
}
