import { randomBytes } from 'node:crypto';
import { request, type ClientRequest } from 'node:http';
import { sharedInternalApi, type InternalApiWorld } from '@gwk/test/support/api/internal-api';
import { until } from '@gwk/test/support/wait';
import { BodyBudget } from './body-budget.js';

test('a caller has so many bytes at once, and has them again when they are through', () => {
  const budget = new BodyBudget(10);
  budget.take('one', 6);
  expect(() => budget.take('one', 5)).toThrow('unavailable');
  budget.take('other', 10);
  budget.take('one', 4);
  budget.give('one', 10);
  budget.take('one', 10);
  budget.give('one', 10);
  budget.give('other', 10);
  expect(budget.callers).toBe(0);
});

describe('on the internal port', () => {
  let port: InternalApiWorld;
  beforeAll(async () => {
    port = await sharedInternalApi();
  });
  afterAll(() => port.close());

  const WAYS: [what: string, schemes: readonly string[]][] = [
    ['as engines do', ['Bearer']],
    ['its token written in another way each time', ['Bearer', 'bearer', 'BEARER', 'bEaReR']],
  ];
  test.each(WAYS)(
    'a stolen engine cannot fill the API with bodies that never end: %s',
    async (_, schemes) => {
      const [thief, other] = [await port.addEngine(), await port.addEngine()];
      await other.acquire();
      const half = Buffer.concat([Buffer.from('{"a":"'), randomBytes(24 * 1024 * 1024)]);
      const statuses: number[] = [];
      const calls: ClientRequest[] = Array.from({ length: 8 }, (__, i) => {
        const call = request(
          {
            ...{ host: '127.0.0.1', port: new URL(port.url).port, path: '/engine/inbound', method: 'POST' },
            headers: {
              authorization: `${schemes[i % schemes.length]} ${thief.token}`,
              'content-type': 'application/json',
            },
          },
          (response) => {
            statuses.push(response.statusCode ?? 0);
            response.resume();
          },
        );
        call.on('error', () => undefined);
        call.write(half);
        return call;
      });
      try {
        // Four halves of 24 MB are less than 96 MB and a little; the others are too much.
        await until(() => statuses.length >= 4, { what: 'bodies are refused' });
        expect(new Set(statuses)).toEqual(new Set([503]));
        await other.call('renew', { connected: true });
      } finally {
        for (const call of calls) call.destroy();
      }
      await until(async () => (await other.call('renew', { connected: true })) !== undefined, {
        what: 'others go on',
      });
    },
  );
});
