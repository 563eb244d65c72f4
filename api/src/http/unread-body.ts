import type { Clock } from '@gwk/core/clock';
import type { Exchange, Reply } from './exchange.js';

/**
 * Largest body that Node itself discards after an early answer; it keeps the connection. After a larger one the connection
 * closes.
 */
const SMALL_BYTES = 65_536;
const DISCARD_MS = 2_000;

/** Whether the request is answered before its large body has arrived, so that its connection must close. */
export function hasUnreadBody(req: Exchange): boolean {
  if (req.complete) return false;
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  return encoding !== undefined || Number(length ?? 0) > SMALL_BYTES;
}

/**
 * Writes the answer, discards incoming bytes for 2 s, then closes the connection. Closing at once would reset it, and the
 * client might not see the answer. From the announced length the client knows the end of the answer.
 */
export function endAfterDraining(
  req: Exchange,
  res: Reply,
  content: string | Uint8Array | undefined,
  clock: Clock,
): void {
  if (content === undefined) res.flushHeaders();
  else res.write(content);
  const cancel = clock.after(DISCARD_MS, end);
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
