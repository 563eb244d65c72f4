import type { Clock } from '@gwk/core/clock';
import type { Exchange, Reply } from './exchange.js';

/**
 * Requests that are answered before their body has arrived. A small one is read and dropped by Node itself and the
 * connection stays; for a large one the connection ends. Closing it while bytes arrive would reset it, and the
 * client might never see the answer: so the answer is written, what still comes is dropped for a moment, and then
 * the connection ends whatever the client does.
 */
const SMALL_BYTES = 65_536;
const LISTEN_MS = 2_000;

export function isLeftUnread(req: Exchange): boolean {
  if (req.complete) return false;
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  return encoding !== undefined || Number(length ?? 0) > SMALL_BYTES;
}

/** The announced length of the answer is complete with `content`, so the client need not wait for the end. */
export function endAfterListening(
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
