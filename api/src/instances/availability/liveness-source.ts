/**
 * LivenessSource of life of engines, as somebody saw them who is not the API: Prometheus, or the heartbeats in Redis. They say
 * when an engine that has fallen silent was last there, and whether it lives and only cannot be heard.
 *
 * Nothing is ever concluded from a sign that is missing: whether an engine is out is for its lease to say. So a
 * Prometheus or a Redis that is away is no outage of anything, and costs some seconds of precision.
 */
export interface Liveness {
  /** When it was last seen at all. */
  alive: Date;
  /** When it was last seen connected. */
  connected: Date | null;
}

/** An engine of which signs are wanted: it has not renewed for a while, or its lease has ended. */
export interface Suspect {
  instanceId: string;
  epoch: number;
  renewedAt: Date;
}

export interface LivenessSource {
  readonly name: 'prometheus' | 'heartbeats';
  /** What is known of each suspect, by instance. @throws where the source does not answer */
  read(suspects: readonly Suspect[]): Promise<ReadonlyMap<string, Liveness>>;
}

/** A lease that has ended with an engine that was said to be connected, or connecting. */
export interface UnrenewedLease {
  state: string;
  /** Null: given back, because the end of its process was seen. */
  holder: string | null;
  renewedAt: Date;
  expiresAt: Date;
}

export interface Closing {
  at: Date;
  /** `engine_silent`: nobody sees it. `lease_unconfirmed`: it lives, cannot be heard, and has closed its socket. */
  reason: 'engine_silent' | 'lease_unconfirmed';
}

/**
 * When the interval of an engine ended whose lease has ended, and why. Without signs it ended at `since`. A sign moves
 * that, and never beyond the lease: clocks differ, and an engine closes its socket before its lease ends.
 *
 * A dead engine leaves signs for as long as one renewal takes (10 s of a lease of 45); one that goes on for a third of
 * a lease without renewing lives, and is cut off from the API. When its lease ends, Prometheus has seen it within the
 * last 30 s, where it asks engines as often as the chart has it.
 */
export function closingOf(lease: UnrenewedLease, since: Date, sign: Liveness | undefined): Closing {
  const { holder, renewedAt, expiresAt, state } = lease;
  if (holder === null || !sign) return { at: since, reason: 'engine_silent' };
  const leaseMs = expiresAt.getTime() - renewedAt.getTime();
  const cutOff = sign.alive.getTime() - renewedAt.getTime() > leaseMs / 3;
  const seen = (state === 'connected' ? sign.connected : sign.alive) ?? since;
  const at = Math.min(Math.max(seen.getTime(), since.getTime()), expiresAt.getTime());
  return { at: new Date(at), reason: cutOff ? 'lease_unconfirmed' : 'engine_silent' };
}
