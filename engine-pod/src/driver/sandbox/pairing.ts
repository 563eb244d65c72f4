import { randomBytes, randomInt } from 'node:crypto';
import type { OpenPairing } from '@gwk/core/protocol/engine';
import type { ConnectionEvent, Disconnect } from '../driver.js';
import type { PhoneEvent, SandboxNetwork } from './network.js';

interface SandboxPairing {
  wanted: OpenPairing;
  network: SandboxNetwork;
  emit: (event: ConnectionEvent) => void;
  /** Stores the linked device. It must be stored before it is reported. */
  link: () => Promise<void>;
  /** Aborted when the connection is closed. */
  signal: AbortSignal;
}

/**
 * Pairs as the real network does: shows one code after the other, each for some seconds. The phone scans one and
 * the network asks for a new connection (515), or it refuses, or nobody scans any.
 */
export async function pairSandbox(pairing: SandboxPairing): Promise<void> {
  const { wanted, network, emit, link, signal } = pairing;
  const { codes, codeMs } = await network.openPairing(wanted, signal);
  if (wanted.method === 'code') {
    emit({ kind: 'pairing-code', code: createPairingCode(), expiresInMs: codes * codeMs });
  }
  for (let i = 0; i < codes; i++) {
    emit({ kind: 'qr', code: createQr(), expiresInMs: codeMs });
    const event = await network.nextEvent(codeMs, signal);
    if (signal.aborted) return;
    if (event === null) continue;
    if (event.kind === 'scan') await link();
    emit({ kind: 'closed', disconnect: toPairingDisconnect(event) });
    return;
  }
  emit({ kind: 'closed', disconnect: { kind: 'pairing-failed', reason: 'codes_unread' } });
}

function toPairingDisconnect(event: PhoneEvent): Disconnect {
  if (event.kind === 'scan') return { kind: 'dropped', reason: 'restart_required', reconnect: 'at-once' };
  return event.kind === 'refuse' ? { kind: 'pairing-failed', reason: event.reason } : toDisconnect(event);
}

/** Translates an action of the phone or the network into the end of the connection. */
export function toDisconnect(event: Exclude<PhoneEvent, { kind: 'scan' | 'refuse' }>): Disconnect {
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

/** As long as a real one, with a readable prefix. A phone that scans it reports an unknown code. */
function createQr(): string {
  const part = (bytes: number): string => randomBytes(bytes).toString('base64');
  return `gwk-sandbox:${part(48)},${part(32)},${part(32)},${part(32)}`;
}

const LETTERS = '123456789ABCDEFGHJKLMNPQRSTVWXYZ';

function createPairingCode(): string {
  return Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join('');
}
