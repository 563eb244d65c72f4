import { randomBytes, randomInt } from 'node:crypto';
import type { PairingWanted } from '@gwk/core/protocol/engine';
import type { ConnectionEvent } from '../driver.js';
import type { PhoneEvent, SandboxNetwork } from './network.js';

export interface SandboxPairing {
  wanted: OpenPairing;
  network: SandboxNetwork;
  tell: (event: ConnectionEvent) => void;
  /** The device is linked: it has to be stored before anybody hears of it. */
  link: () => Promise<void>;
  /** The connection has been closed. */
  signal: AbortSignal;
}

/**
 * A pairing as the network does it: a code to be read for some seconds, then the next one, as many as the network
 * gives. The phone reads one, and the network asks for a connection anew (515); or it refuses; or nobody reads any.
 */
export async function pairSandbox(pairing: SandboxPairing): Promise<void> {
  const { wanted, network, tell, link, signal } = pairing;
  const { codes, codeMs } = await network.openPairing(wanted, signal);
  if (wanted.method === 'code') {
    tell({ kind: 'pairing-code', code: newPairingCode(), expiresInMs: codes * codeMs });
  }
  for (let i = 0; i < codes; i++) {
    tell({ kind: 'qr', code: newQr(), expiresInMs: codeMs });
    const event = await network.nextEvent(codeMs, signal);
    if (signal.aborted) return;
    if (event === null) continue;
    if (event.kind === 'scan') {
      await link();
      tell({ kind: 'closed', how: { kind: 'dropped', reason: 'restart_required', reconnect: 'at-once' } });
      return;
    }
    tell({ kind: 'closed', how: refusalOf(event) });
    return;
  }
  tell({ kind: 'closed', how: { kind: 'pairing-failed', reason: 'codes_unread' } });
}

type How = Extract<ConnectionEvent, { kind: 'closed' }>['how'];

function refusalOf(event: Exclude<PhoneEvent, { kind: 'scan' }>): How {
  return event.kind === 'refuse' ? { kind: 'pairing-failed', reason: event.reason } : closedBy(event);
}

/** How what the other side does ends a connection. */
export function closedBy(event: Exclude<PhoneEvent, { kind: 'scan' | 'refuse' }>): How {
  switch (event.kind) {
    case 'drop':
      return { kind: 'dropped', reason: event.reason };
    case 'unlink':
      return { kind: 'logged-out', reason: event.reason };
    case 'ban': {
      const expiresAt = event.expires_at === null ? null : new Date(event.expires_at);
      return { kind: 'banned', code: event.code, expiresAt };
    }
    case 'replace':
      return { kind: 'replaced' };
  }
}

/** As long as a real one, and naming itself: a phone that reads it says that it knows no such code. */
function newQr(): string {
  const part = (bytes: number): string => randomBytes(bytes).toString('base64');
  return `gwk-sandbox:${part(48)},${part(32)},${part(32)},${part(32)}`;
}

const LETTERS = '123456789ABCDEFGHJKLMNPQRSTVWXYZ';

function newPairingCode(): string {
  return Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join('');
}
