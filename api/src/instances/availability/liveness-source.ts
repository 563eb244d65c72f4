/**
 * Liveness of an engine as seen by Prometheus or by heartbeats in Redis: when an unresponsive engine was last alive, and
 * whether it still runs without reaching the API.
 *
 * Only the lease decides whether an engine is down (docs/decisions/0004-only-the-lease-decides-whether-an-engine-is-down.md).
 * Without Prometheus or Redis the time of an outage is less precise by some seconds.
 */
export interface Liveness {
  /** When it was last seen alive. */
  alive: Date;
  /** When it was last seen connected. */
  connected: Date | null;
}

/** An engine without a recent renewal, or with an ended lease. */
export interface Suspect {
  instanceId: string;
  epoch: number;
  renewedAt: Date;
}

export interface LivenessSource {
  readonly name: 'prometheus' | 'heartbeats';
  /** Reads the liveness of each suspect, by instance id. @throws if the source does not answer */
  read(suspects: readonly Suspect[]): Promise<ReadonlyMap<string, Liveness>>;
}

/** An ended lease of an engine that was connected or connecting. */
export interface UnrenewedLease {
  state: string;
  /** Null: released, because the operator saw its process end. */
  holder: string | null;
  renewedAt: Date;
  expiresAt: Date;
}

export interface Closing {
  at: Date;
  /** `engine_silent`: not seen alive. `lease_unconfirmed`: alive without reaching the API; it has closed its socket. */
  reason: 'engine_silent' | 'lease_unconfirmed';
}

/**
 * Decides when and why the connected interval of an engine ended. Without liveness it ended at `since`. Liveness moves the end,
 * but never beyond the lease: clocks differ, and an engine closes its socket before its lease ends.
 *
 * A dead engine was last seen at most one renewal (10 s of a 45 s lease) after its last renewal. An engine that was alive a
 * third of a lease later is cut off from the API. With the chart's scrape interval, Prometheus has seen a cut-off engine within
 * the last 30 s when its lease ends.
 */
export function decideClosing(lease: UnrenewedLease, since: Date, liveness: Liveness | undefined): Closing {
  const { holder, renewedAt, expiresAt, state } = lease;
  if (holder === null || !liveness) return { at: since, reason: 'engine_silent' };
  const leaseMs = expiresAt.getTime() - renewedAt.getTime();
  const cutOff = liveness.alive.getTime() - renewedAt.getTime() > leaseMs / 3;
  const seen = (state === 'connected' ? liveness.connected : liveness.alive) ?? since;
  const at = Math.min(Math.max(seen.getTime(), since.getTime()), expiresAt.getTime());
  return { at: new Date(at), reason: cutOff ? 'lease_unconfirmed' : 'engine_silent' };
}
