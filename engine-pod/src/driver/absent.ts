import type { PairingWanted } from '@gwk/core/protocol/engine';
import { SendFailure, type Built, type Closed, type ConnectionEvent, type Driver } from './driver.js';

/**
 * For a kind of instance that this build brings no driver for: it cannot be paired, so its connection ends at once,
 * and the state says why.
 */
export class AbsentDriver implements Driver {
  connect(listen: (event: ConnectionEvent) => void, pairing: PairingWanted | null): void {
    const how: Closed = pairing
      ? { kind: 'pairing-failed', reason: 'no_driver' }
      : { kind: 'dropped', reason: 'no_driver', reconnect: 'slowly' };
    setImmediate(() => listen({ kind: 'closed', how }));
  }

  async close(): Promise<void> {}

  async logout(): Promise<boolean> {
    return false;
  }

  async checkContact(): Promise<null> {
    throw SendFailure.notWritten();
  }

  async markRead(): Promise<void> {
    throw SendFailure.notWritten();
  }

  async sendPresence(): Promise<void> {
    throw SendFailure.notWritten();
  }

  async build(): Promise<Built> {
    throw SendFailure.refused('not_connected');
  }

  async send(): Promise<void> {
    throw SendFailure.notWritten();
  }

  async change(): Promise<void> {
    throw SendFailure.notWritten();
  }
}
