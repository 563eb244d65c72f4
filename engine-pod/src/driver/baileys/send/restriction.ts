import type { BinaryNode, ConnectionState, WASocket } from '@whiskeysockets/baileys';

const RESTRICTED = '463';
/** Where the network does not say how long. */
const DEFAULT_RESTRICTION_MS = 3_600_000;
/** Told once for many messages that are refused for it. */
const REPORT_INTERVAL_MS = 60_000;

type TimeLock = NonNullable<ConnectionState['reachoutTimeLock']>;

/**
 * Listens for the network's word that the number may not reach new contacts: said of itself, or with the refusal of a
 * message (463), which is not tried again, because each attempt makes the restriction longer.
 */
export function listenForRestriction(socket: WASocket, report: (until: Date | null) => void): void {
  let reportedAt = -Infinity;
  socket.ev.on('connection.update', ({ reachoutTimeLock }) => {
    if (reachoutTimeLock) report(findEnd(reachoutTimeLock));
  });
  socket.ws.on('CB:ack,class:message', ({ attrs }: BinaryNode) => {
    if (attrs['error'] !== RESTRICTED || performance.now() - reportedAt < REPORT_INTERVAL_MS) return;
    reportedAt = performance.now();
    // What it answers is told above; where it knows of none, or says nothing, the refusal itself is believed.
    socket.fetchAccountReachoutTimelock().then(
      ({ isActive }) => isActive || report(new Date(Date.now() + DEFAULT_RESTRICTION_MS)),
      () => report(new Date(Date.now() + DEFAULT_RESTRICTION_MS)),
    );
  });
}

function findEnd({ isActive, timeEnforcementEnds }: TimeLock): Date | null {
  if (!isActive) return null;
  return timeEnforcementEnds ?? new Date(Date.now() + DEFAULT_RESTRICTION_MS);
}
