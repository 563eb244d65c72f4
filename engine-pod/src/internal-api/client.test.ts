import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { type EngineClient, InternalApiUnreachable } from '@gwk/core/protocol/internal-client';
import { createLogger } from '@gwk/core/process/log';
import { ManualClock } from '@gwk/test/support/clock';
import { InternalApiClient } from './client.js';

const openClient = (client: object, clock?: ManualClock): InternalApiClient =>
  new InternalApiClient({
    client: client as EngineClient,
    lease: { epoch: 1, holder: '00000000-0000-4000-8000-000000000000' },
    log: createLogger('test', 'silent'),
    onRefused: () => {},
    ...(clock && { clock }),
  });

test('reports names one after the other, with growing numbers', async () => {
  const calls: { number: number; answer: () => void }[] = [];
  const api = openClient({
    call: (_route: string, { number }: { number: number }) =>
      new Promise<object>((resolve) => calls.push({ number, answer: () => resolve({}) })),
  });
  const stored = ['1@lid', '2@lid'].map((lid) => api.storeNames({ lid, phone: '5511900000001' }));
  await turn();
  expect(calls.map(({ number }) => number)).toEqual([1]);
  calls[0]!.answer();
  await stored[0];
  await turn();
  expect(calls.map(({ number }) => number)).toEqual([1, 2]);
  calls[1]!.answer();
  await stored[1];
});

test.each(['call', 'download'] as const)('repeats a %s when the API wants it', async (method) => {
  const clock = new ManualClock();
  let attempts = 0;
  const answer = () => {
    attempts++;
    if (attempts > 1) return Promise.resolve(Readable.from([]));
    return Promise.reject(new InternalApiUnreachable('overloaded', 20_000));
  };
  const api = openClient({ [method]: answer }, clock);
  const done =
    method === 'call'
      ? api.storeNames({ lid: '1@lid', phone: '5511900000001' })
      : api.readFile('a', () => Promise.resolve());
  await turn();
  expect(clock.count(20_000)).toBe(1);
  clock.advance(19_999);
  await turn();
  expect(attempts).toBe(1);
  clock.advance(1);
  await done;
  expect(attempts).toBe(2);
});
