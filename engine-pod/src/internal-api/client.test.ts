import { setImmediate as turn } from 'node:timers/promises';
import type { EngineClient } from '@gwk/core/protocol/internal-client';
import { createLogger } from '@gwk/core/log';
import { InternalApiClient } from './client.js';

test('reports names one after the other, with growing numbers', async () => {
  const calls: { number: number; answer: () => void }[] = [];
  const client = {
    call: (_route: string, { number }: { number: number }) =>
      new Promise<object>((resolve) => calls.push({ number, answer: () => resolve({}) })),
  } as unknown as EngineClient;
  const lease = { epoch: 1, holder: '00000000-0000-4000-8000-000000000000' };
  const api = new InternalApiClient({
    client,
    lease,
    log: createLogger('test', 'silent'),
    onRefused: () => {},
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
