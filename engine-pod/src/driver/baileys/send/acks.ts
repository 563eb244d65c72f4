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

const MEANINGS: Record<string, string> = {
  '405': 'the network refuses this kind of message (405)',
  '463': 'the account is restricted from reaching new contacts (463)',
  '479': 'the network refuses the message as malformed (479)',
};

/** Retrying does not help, and after 463 it extends the restriction. */
function toSendFailure(error: string): SendFailure {
  return SendFailure.refused('wa_error', MEANINGS[error] ?? `refused by the network (${error.slice(0, 20)})`);
}
