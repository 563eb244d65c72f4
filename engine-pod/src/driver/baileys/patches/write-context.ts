import { AsyncLocalStorage } from 'node:async_hooks';

/** A message on its way to the socket. Code that runs in its context sends the stanza of this message. */
export interface WriteContext {
  /** Messages of one chat leave one after the other. */
  chat: string;
  /** Checked immediately before the stanza is written to the socket. */
  mayWrite: () => boolean;
  encrypted?: boolean;
  /** The built message is stored. Its stanza waits for this as for the ratchet steps. */
  stored?: Promise<void>;
  /** Writes of ratchet steps that are not known to be stored. */
  pendingWrites: Promise<void>[];
  written?: boolean;
  /** Frames sent in this context from now on are not part of the message. */
  finished?: boolean;
  /** The sender reported the message as not written, so the stanza must never leave. */
  abandoned?: boolean;
  /** Called once the network has accepted the message. */
  confirmations: (() => Promise<void>)[];
}

export const writeContext = new AsyncLocalStorage<WriteContext>();

/**
 * Records an encryption in the current write context.
 * @returns whether a message will wait for `stored` before its stanza leaves
 */
export function recordEncryption(stored: Promise<void>): boolean {
  const message = writeContext.getStore();
  if (!message || message.finished) return false;
  // Not earlier, because every key access waits for pending writes: the built message is stored during the encryption.
  if (!message.encrypted && message.stored) message.pendingWrites.push(message.stored);
  message.encrypted = true;
  message.pendingWrites.push(stored);
  return true;
}

/** Resolves once the message and every ratchet step of it are stored. */
export async function waitUntilStored(message: WriteContext): Promise<void> {
  while (message.pendingWrites.length > 0) {
    const waited = [...message.pendingWrites];
    await Promise.all(waited);
    message.pendingWrites = message.pendingWrites.filter((stored) => !waited.includes(stored));
  }
}
