import { randomBytes, randomInt } from 'node:crypto';
import type { Disconnect } from '../driver.js';
import type { PhoneEvent } from './network.js';

/** Translates an action of the phone or the network into the end of the connection. */
export function toDisconnect(event: PhoneEvent): Disconnect {
  switch (event.kind) {
    case 'scan':
      return { kind: 'dropped', reason: 'restart_required', reconnect: 'at-once' };
    case 'refuse':
      return { kind: 'pairing-failed', reason: event.reason };
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
export function createQr(): string {
  const part = (bytes: number): string => randomBytes(bytes).toString('base64');
  return `gwk-sandbox:${part(48)},${part(32)},${part(32)},${part(32)}`;
}

const LETTERS = '123456789ABCDEFGHJKLMNPQRSTVWXYZ';

export function createPairingCode(): string {
  return Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)]).join('');
}
