import type { BinaryNode, ConnectionState, WASocket } from '@whiskeysockets/baileys';
import type { DriverContext } from '../../driver.js';

const RESTRICTED = '463';
/** Used when the network states no duration. */
const DEFAULT_RESTRICTION_MS = 3_600_000;
/** Many refused messages are reported once. */
const REPORT_INTERVAL_MS = 60_000;

/** Stores the restrictions of all connections in order, because a late start would undo an end. */
export class RestrictionReporter {
  readonly #context: Pick<DriverContext, 'log' | 'storeRestriction'>;
  #stored: Promise<void> = Promise.resolve();

  constructor(context: Pick<DriverContext, 'log' | 'storeRestriction'>) {
    this.#context = context;
  }

  listen(socket: WASocket): void {
    listenForRestriction(socket, (until) => {
      this.#context.log.warn({ until }, 'the network restricts new contacts');
      this.#stored = this.#stored.then(() => this.#context.storeRestriction(until)).catch(() => undefined);
    });
  }
}

type TimeLock = NonNullable<ConnectionState['reachoutTimeLock']>;

/**
 * Reports when the network restricts the instance from reaching new contacts. It says so on its own or refuses a
 * message with 463. Such a message is not retried, because each attempt extends the restriction.
 */
function listenForRestriction(socket: WASocket, report: (until: Date | null) => void): void {
  let reportedAt = -Infinity;
  socket.ev.on('connection.update', ({ reachoutTimeLock }) => {
    if (reachoutTimeLock) report(findEnd(reachoutTimeLock));
  });
  socket.ws.on('CB:ack,class:message', ({ attrs }: BinaryNode) => {
    if (attrs['error'] !== RESTRICTED || performance.now() - reportedAt < REPORT_INTERVAL_MS) return;
    reportedAt = performance.now();
    // An active restriction is reported above. If the network knows of none or does not answer, the refusal counts.
    void socket
      .fetchAccountReachoutTimelock()
      .catch(() => ({ isActive: false }))
      .then(({ isActive }) => isActive || report(new Date(Date.now() + DEFAULT_RESTRICTION_MS)));
  });
}

function findEnd({ isActive, timeEnforcementEnds }: TimeLock): Date | null {
  if (!isActive) return null;
  return timeEnforcementEnds ?? new Date(Date.now() + DEFAULT_RESTRICTION_MS);
}
