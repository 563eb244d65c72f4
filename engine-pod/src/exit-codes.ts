import type { FinalRefusal } from './internal-api/client.js';

/** Why an engine ended by itself, for its operator. 0 is a graceful stop, 1 a failure that nobody foresaw. */
export const EXIT_CODES = {
  /** Wrong settings. */
  configuration: 2,
  /** Another engine has the number. */
  fenced: 10,
  /** The token is not, or no longer, good. */
  unauthorized: 11,
  /** The instance was deleted. */
  gone: 12,
  /** Another connection with the same credentials took over on the network. */
  replaced: 13,
} as const satisfies Record<FinalRefusal | 'configuration' | 'replaced', number>;
