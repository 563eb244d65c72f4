import { CHANGE_REFUSALS, type SentChange } from '@gwk/core/protocol/changes';
import { SendFailure, type Driver } from '../driver/driver.js';
import { CommandError } from '../redis/command-reader.js';
import type { Gate } from '../sends/gate.js';

export interface ChangesOptions {
  driver: Driver;
  gate: Gate;
  ackTimeoutMs: number;
}

/** Changes of messages that have left: given to the network at once, or refused; nobody keeps them for later. */
export class Changes {
  readonly #options: ChangesOptions;

  constructor(options: ChangesOptions) {
    this.#options = options;
  }

  /** The handlers of the commands. */
  readonly handlers = {
    edit: (args: string) => this.#send('edit', args),
    delete: (args: string) => this.#send('delete', args),
    react: (args: string) => this.#send('react', args),
  };

  async #send(kind: OutboundEdit['kind'], args: string): Promise<null> {
    const { driver, gate, ackTimeoutMs } = this.#options;
    if (!gate.open) throw refusalOf(SendFailure.notWritten());
    const change = { ...(JSON.parse(args) as OutboundEdit), kind } as OutboundEdit;
    try {
      await driver.change(change, { mayWrite: () => gate.open, signal: AbortSignal.timeout(ackTimeoutMs) });
    } catch (error) {
      throw error instanceof SendFailure ? refusalOf(error) : error;
    }
    return null;
  }
}

function refusalOf(failure: SendFailure): CommandError {
  if (!failure.certain) return new CommandError(EDIT_FAILURES.unconfirmed, 'no answer of the network');
  const code = failure.retriable ? EDIT_FAILURES.notConnected : EDIT_FAILURES.refused;
  return new CommandError(code, failure.text ?? code);
}
