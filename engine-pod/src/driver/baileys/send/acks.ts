import type { BinaryNode, WASocket } from '@whiskeysockets/baileys';
import { SendFailure } from '../../driver.js';

type Settle = (error?: SendFailure) => void;

/** Waits for the network to accept or refuse written messages. */
export class Acks {
  readonly #waiting = new Map<string, Set<Settle>>();

  listen(socket: WASocket): void {
    socket.ws.on('CB:ack,class:message', ({ attrs }: BinaryNode) => {
      const { id, error } = attrs;
      if (id !== undefined) this.#answer(id, error);
    });
  }

  /**
   * Call before the message is written.
   * @throws SendFailure by the promise
   */
  expect(id: string, signal: AbortSignal): { answer: Promise<void>; forget: () => void } {
    const { promise: answer, resolve, reject } = Promise.withResolvers<void>();
    const settle: Settle = (error) => (error ? reject(error) : resolve());
    answer.catch(() => undefined);
    const giveUp = (): void => settle(SendFailure.unconfirmed());
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting.add(settle));
    signal.addEventListener('abort', giveUp);
    if (signal.aborted) giveUp();
    const forget = (): void => {
      signal.removeEventListener('abort', giveUp);
      waiting.delete(settle);
      if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
    };
    return { answer, forget };
  }

  #answer(id: string, error: string | undefined): void {
    const failure = error === undefined ? undefined : toSendFailure(error);
    for (const settle of this.#waiting.get(id) ?? []) settle(failure);
  }
}

const MEANINGS: Record<string, string> = {
  '405': 'the network refuses this kind of message (405)',
  '463': 'the account is restricted from reaching new contacts (463)',
  '479': 'the network refuses the message as malformed (479)',
};

/** Retrying does not help, and after 463 it extends the restriction. */
function toSendFailure(error: string): SendFailure {
  return SendFailure.refused('wa_error', MEANINGS[error] ?? `refused by the network (${error.slice(0, 20)})`);
}
