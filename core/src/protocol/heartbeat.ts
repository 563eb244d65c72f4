import type { InstanceState } from '../states.js';

/**
 * What an engine keeps at its heartbeat key in Redis, as JSON, expiring: its presence says that the engine lives.
 * Loss of the key alone says nothing while Redis itself was away.
 */
export interface Heartbeat {
  epoch: number;
  pod: string;
  state: InstanceState;
  /** Since when the state holds, ISO 8601. */
  since: string;
  /** When this was written, ISO 8601. */
  at: string;
}

/** A heartbeat is written at every renewal of the lease and whenever the state changes; it lives for three of them. */
export const HEARTBEAT_TTL_RENEWALS = 3;
