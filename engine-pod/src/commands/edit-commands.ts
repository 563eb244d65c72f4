import { EDIT_FAILURES, type OutboundEdit } from '@gwk/core/protocol/edits';
import { SendFailure, type Driver } from '../driver/driver.js';
import { CommandError } from '../redis/command-reader.js';
import type { Gate } from '../sends/gate.js';

/**
 * Handlers for edits, deletions and reactions to messages that were already sent. The network gets them at once or
 * the command fails; nothing is queued.
 */
export function createEditHandlers(driver: Driver, gate: Gate, ackTimeoutMs: number) {
  const send = async (kind: OutboundEdit['kind'], args: string): Promise<null> => {
    if (!gate.open) throw toCommandError(SendFailure.notWritten());
    const edit = { ...(JSON.parse(args) as OutboundEdit), kind } as OutboundEdit;
    try {
      await driver.edit(edit, { mayWrite: () => gate.open, signal: AbortSignal.timeout(ackTimeoutMs) });
    } catch (error) {
      throw error instanceof SendFailure ? toCommandError(error) : error;
    }
    return null;
  };
  return {
    edit: (args: string) => send('edit', args),
    delete: (args: string) => send('delete', args),
    react: (args: string) => send('react', args),
  };
}

function toCommandError(failure: SendFailure): CommandError {
  if (!failure.certain) return new CommandError(EDIT_FAILURES.unconfirmed, 'the network did not answer');
  const code = failure.retriable ? EDIT_FAILURES.notConnected : EDIT_FAILURES.refused;
  return new CommandError(code, failure.text ?? code);
}
