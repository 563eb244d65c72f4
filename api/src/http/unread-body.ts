import type { Clock } from '@gwk/core/clock';
import type { Exchange, Reply } from './exchange.js';

/**
 * Requests that are answered before their body has arrived. Node itself discards a small body and keeps the connection. For
 * a large body the connection closes: first the answer is written, then incoming bytes are discarded for 2 s. Closing at
 * once would reset the connection, and the client might not see the answer.
 */
const SMALL_BYTES = 65_536;
const LISTEN_MS = 2_000;

export function hasUnreadBody(req: Exchange): boolean {
  if (req.complete) return false;
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  return encoding !== undefined || Number(length ?? 0) > SMALL_BYTES;
}

/** Writes the answer, whose length is announced, so that the client need not wait for the end of the connection. */
export function endAfterDraining(
  req: Exchange,
  res: Reply,
  content: string | Uint8Array | undefined,
  clock: Clock,
): void {
  if (content === undefined) res.flushHeaders();
  else res.write(content);
  const cancel = clock.after(LISTEN_MS, end);
  function end(): void {
    cancel();
    if (!res.writableEnded) res.end();
    if (!req.complete) req.socket.destroySoon();
  }
  req.on('end', end);
  req.on('error', end);
  res.on('close', cancel);
  req.resume();
}
