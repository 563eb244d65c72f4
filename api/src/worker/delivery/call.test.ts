import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Agent } from 'undici';
import { Call, WorkerStopping } from './call.js';
import type { Prepared } from './types.js';

describe('a call that has no connection yet', () => {
  let silent: Server;
  const taken: Socket[] = [];
  let dispatcher: Agent;
  let prepared: Prepared;
  beforeEach(async () => {
    // Takes connections and says nothing, so that no TLS comes about.
    silent = createServer((socket) => taken.push(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    dispatcher = new Agent({ connect: { timeout: 10_000 } });
    const url = new URL(`https://127.0.0.1:${(silent.address() as AddressInfo).port}/`);
    prepared = { claimed: {} as Prepared['claimed'], url, headers: {}, body: '{}' };
  });
  afterEach(async () => {
    for (const socket of taken) socket.destroy();
    await dispatcher.destroy();
    silent.close();
  });

  test('ends with its own time-out, and not with that of the connection', async () => {
    const began = performance.now();
    const { statusCode, error, latencyMs } = await new Call(prepared, dispatcher, 300).called;
    expect({ statusCode, error }).toEqual({ statusCode: null, error: 'no complete answer within 0.3 s' });
    expect(latencyMs).toBeGreaterThanOrEqual(299);
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  test('ends when the worker stops, and what comes after changes nothing', async () => {
    const call = new Call(prepared, dispatcher, 10_000);
    const stopped = expect(call.called).rejects.toBeInstanceOf(WorkerStopping);
    call.breakOff(new WorkerStopping());
    await dispatcher.destroy();
    await stopped;
  });
});
