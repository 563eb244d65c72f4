import { SendFailure, type Built, type ConnectionEvent, type Driver } from './driver.js';

/**
 * For a kind of instance that this build brings no driver for: it cannot be paired, so its connection ends at once,
 * and the state says why.
 */
export class AbsentDriver implements Driver {
  connect(listen: (event: ConnectionEvent) => void): void {
    setImmediate(() => {
      listen({ kind: 'closed', how: { kind: 'dropped', reason: 'no_driver', reconnect: 'slowly' } });
    });
  }

  async close(): Promise<void> {}

  async logout(): Promise<void> {}

  async build(): Promise<Built> {
    throw SendFailure.refused('not_connected');
  }

  async send(): Promise<void> {
    throw SendFailure.notWritten();
  }
}
