import type { FinalRefusal } from './internal-api/client.js';

/** Exit codes for the operator. 0 is a graceful stop, 1 an unexpected failure. */
export const EXIT_CODES = {
  /** Invalid settings. */
  configuration: 2,
  /** Another engine has acquired the lease, or it was released for this engine. */
  fenced: 10,
  /** The token is not valid, or no longer. */
  unauthorized: 11,
  /** The instance was deleted. */
  gone: 12,
  /** Another connection with the same credentials took over on the network. */
  replaced: 13,
} as const satisfies Record<FinalRefusal | 'configuration' | 'replaced', number>;
