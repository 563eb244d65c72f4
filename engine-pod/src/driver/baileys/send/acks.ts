import type { BinaryNode, WASocket } from '@whiskeysockets/baileys';
import { SendFailure } from '../../driver.js';

/**
 * Listens for the network's answer to a message. Call before the message is written.
 * @throws SendFailure by the promise
 */
export function expectAck(
  { ws }: WASocket,
  id: string,
  signal: AbortSignal,
): { answer: Promise<void>; forget: () => void } {
  const { promise: answer, resolve, reject } = Promise.withResolvers<void>();
  answer.catch(() => undefined);
  const event = `CB:ack,id:${id}`;
  const settle = ({ attrs }: BinaryNode): void => {
    // A receipt that this instance sent may have the same id.
    if (attrs['class'] !== 'message') return;
    if (attrs['error'] === undefined) resolve();
    else reject(toSendFailure(attrs['error']));
  };
  const giveUp = (): void => reject(SendFailure.unconfirmed());
  ws.on(event, settle);
  signal.addEventListener('abort', giveUp);
  if (signal.aborted) giveUp();
  const forget = (): void => {
    ws.off(event, settle);
    signal.removeEventListener('abort', giveUp);
  };
  return { answer, forget };
}

const MEANINGS: Readonly<Record<string, string>> = {
  '401': 'the network does not allow this message (401)',
  '403': 'the network does not allow this message (403)',
  '404': 'the network does not know the recipient (404)',
  '405': 'the network refuses this kind of message (405)',
  '420': 'the network refuses the list of group members (420)',
  '421': 'the network refuses the addresses of group members (421)',
  '429': 'the network limits the rate of messages (429)',
  '463': 'the account is restricted from reaching new contacts (463)',
  '479': 'the network refuses the message as malformed (479)',
};

/** The next attempt may succeed: the network is busy or broken, or the group changed meanwhile. */
const isTransient = (error: string): boolean => /^(?:420|421|429|5\d\d)$/.test(error);

/** The network has not accepted the message. For other errors retrying does not help, and after 463 it does harm. */
function toSendFailure(error: string): SendFailure {
  const text = MEANINGS[error] ?? `refused by the network (${error.slice(0, 20)})`;
  return isTransient(error) ? SendFailure.refusedForNow(text, error) : SendFailure.refused('wa_error', text);
}
