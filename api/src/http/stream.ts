import { setInterval as every } from 'node:timers';
import type { Exchange, Reply } from './exchange.js';
import { commonHeaders, type EventProducer, type Observer } from './respond.js';

/** Interval of the comment that keeps the connection open through proxies. */
const PING_MS = 15_000;
const LOOK_MS = 500;
/** Disconnects a client that reads more slowly than events arrive; it reconnects and receives the current state. */
const MAX_BACKLOG_BYTES = 1024 * 1024;

export function respondStream(
  req: Exchange,
  res: Reply,
  produce: EventProducer,
  { observer, failed }: { observer: Observer; failed: (error: unknown) => void },
): void {
  if (res.headersSent || res.destroyed) return;
  const headers = commonHeaders(req);
  headers.push('Content-Type', 'text/event-stream; charset=utf-8', 'Cache-Control', 'no-store');
  // Without the first header nginx buffers the events. The connection is not reused.
  headers.push('X-Accel-Buffering', 'no', 'Connection', 'close');
  res.writeHead(200, headers);
  observer.answered(req, 200);
  if (req.method === 'HEAD') {
    res.end();
    return;
  }
  res.flushHeaders();
  const ended = new AbortController();
  const stopPinging = observer.clock.every(PING_MS, () => res.write(': ping\n\n'));
  const looking = every(() => observer.closing && ended.abort(), LOOK_MS);
  ended.signal.addEventListener('abort', () => {
    stopPinging();
    clearInterval(looking);
    res.end();
  });
  res.on('close', () => ended.abort());
  const send = (event: string, data: unknown): void => {
    if (ended.signal.aborted) return;
    res.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    if (res.writableLength > MAX_BACKLOG_BYTES) res.destroy();
  };
  produce({ send, signal: ended.signal })
    .catch(failed)
    .finally(() => ended.abort());
}
