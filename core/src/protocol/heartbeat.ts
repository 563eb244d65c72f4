import type { InstanceState } from '../states.js';

/**
 * JSON that an engine writes to its heartbeat key in Redis, with an expiry. The key proves that the engine is running.
 * A missing key proves nothing if Redis was unavailable.
 */
export interface Heartbeat {
  epoch: number;
  pod: string;
  state: InstanceState;
  /** When the state began, ISO 8601. */
  since: string;
  /** When the heartbeat was written, ISO 8601. */
  at: string;
}

/** The engine writes the heartbeat at each lease renewal and state change. It expires after three renewal intervals. */
export const HEARTBEAT_TTL_RENEWALS = 3;
