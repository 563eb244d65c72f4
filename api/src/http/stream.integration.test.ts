import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { processClock } from '@gwk/core/clock';
import { SlowReaders } from '@gwk/test/support/api/slow-readers';
import { openStream } from '@gwk/test/support/sse';
import { until } from '@gwk/test/support/wait';
import express from 'express';
import type { Exchange, Reply } from './exchange.js';
import type { Observer, EventStream } from './respond.js';
import { createServer } from '../public-api/server.js';
import { respondStream } from './stream.js';

const MB = 1024 * 1024;
const observer: Observer = { answered: () => undefined, closing: false, clock: processClock };

/** Serves a stream to everybody. */
async function serve(produce: (out: EventStream, res: Reply) => Promise<void>) {
  const server = createServer({
    app: express().use((req, res) =>
      respondStream(req as Exchange, res as Reply, (out) => produce(out, res as Reply), {
        observer,
        failed: () => undefined,
      }),
    ),
    maxConnections: 100,
    clientError: (_, socket) => socket.destroy(),
    failed: (_, __, res) => res.destroy(),
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}

test('bounds the data it buffers for a client that does not read', async () => {
  let maxBuffered = 0;
  let signal: AbortSignal | undefined;
  const server = await serve(async (out, res) => {
    signal = out.signal;
    while (!out.signal.aborted) {
      out.send('much', 'x'.repeat(MB / 4));
      maxBuffered = Math.max(maxBuffered, res.writableLength);
      await nextTurn();
    }
  });
  const readers = new SlowReaders();
  try {
    readers.ask(connect(server.port, '127.0.0.1'));
    await until(() => signal?.aborted, { what: 'the stream is ended' });
    expect(maxBuffered).toBeLessThan(2 * MB);
  } finally {
    readers.leave();
    server.close();
  }
});

test('sends an event that is larger than the bound to a client that reads', async () => {
  const server = await serve(async (out) => {
    for (const id of ['a', 'b']) {
      out.send('large', 'x'.repeat(1.5 * MB), id);
      if (!(await out.drained())) return;
    }
    out.send('last', {});
  });
  try {
    const stream = openStream(`http://127.0.0.1:${server.port}/`, 'key');
    await until(() => stream.state.ended, { what: 'the stream ends' });
    expect(stream.events.map(({ event, id }) => [event, id])).toEqual([
      ['large', 'a'],
      ['large', 'b'],
      ['last', undefined],
    ]);
  } finally {
    server.close();
  }
});
