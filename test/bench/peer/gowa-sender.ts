import type { Gowa } from '../density/gowa.js';
import type { Sender } from './sender.js';

/** A number of GOWA, which sends a text within its request and keeps nothing. */
export class GowaSender implements Sender {
  readonly name = 'GOWA';
  readonly phone: string;

  /** @param gowa with one linked number */
  constructor(readonly gowa: Gowa) {
    this.phone = gowa.phones()[0]!;
  }

  async send(to: string, text: string): Promise<boolean> {
    try {
      const body = { phone: `${to}@s.whatsapp.net`, message: text };
      await this.gowa.call('POST', '/send/message', { body, device: this.phone });
      return true;
    } catch {
      return false;
    }
  }

  processes(): Record<string, number | undefined> {
    return { process: this.gowa.pids()[0] };
  }

  kill(): Promise<void> {
    return this.gowa.killAndRestart();
  }
}
