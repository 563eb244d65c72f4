import { setInterval as every } from 'node:timers';
import type { Exchange, Reply } from './exchange.js';
import type { Clock } from '@gwk/core/clock';
import { commonHeaders, type EventProducer, type EventStream, type Observer } from './respond.js';

/** Interval of the comment that keeps the connection open through proxies. */
const PING_MS = 15_000;
const LOOK_MS = 500;
/** Disconnects a client that reads more slowly than events arrive; it reconnects and receives the current state. */
const MAX_BACKLOG_BYTES = 1024 * 1024;
/** Time for a client to read what fills the buffers of its connection. */
const MAX_READ_MS = 30_000;

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
  const write = (text: string): void => {
    if (ended.signal.aborted) return;
    // One event may be larger. It ends no stream whose client has read all before it.
    if (res.writableLength > MAX_BACKLOG_BYTES) res.destroy();
    else res.write(text);
  };
  const out: EventStream = {
    send: (event, data, id) =>
      write(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`),
    mark: (id) => write(`id: ${id}\n\n`),
    drained: () => waitForReader(res, ended.signal, observer.clock),
    signal: ended.signal,
  };
  produce(out)
    .catch(failed)
    .finally(() => ended.abort());
}

async function waitForReader(res: Reply, ended: AbortSignal, clock: Clock): Promise<boolean> {
  if (!res.writableNeedDrain) return !ended.aborted;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const cancel = clock.after(MAX_READ_MS, () => resolve(false));
  const [drained, over] = [() => resolve(true), () => resolve(false)];
  res.once('drain', drained);
  ended.addEventListener('abort', over);
  try {
    return await promise;
  } finally {
    cancel();
    res.off('drain', drained);
    ended.removeEventListener('abort', over);
  }
}
