import { randomBytes } from 'node:crypto';
import { request, type ClientRequest } from 'node:http';
import { sharedInternalApi, type InternalApiWorld } from '@gwk/test/support/api/internal-api';
import { until } from '@gwk/test/support/wait';
import { CallBudget } from './body.js';

test('limits the bytes a caller has in flight, and frees them when they are processed', () => {
  const budget = new CallBudget(10, 5);
  const [first, second, other] = [budget.open('one'), budget.open('one'), budget.open('other')];
  first.take(6);
  expect(() => second.take(5)).toThrow('unavailable');
  other.take(10);
  second.take(4);
  first.close();
  second.close();
  const third = budget.open('one');
  third.take(10);
  third.close();
  other.close();
  expect(budget.callers).toBe(0);
});

test('limits the bytes of unread answers, and always allows one', () => {
  const budget = new CallBudget(10, 5);
  const [first, second, third] = [budget.open('one'), budget.open('one'), budget.open('one')];
  first.takeAnswer(7);
  expect(() => second.takeAnswer(1)).toThrow('unavailable');
  first.close();
  second.takeAnswer(2);
  third.takeAnswer(3);
  second.close();
  third.close();
  expect(budget.callers).toBe(0);
});

describe('the internal API', () => {
  let internalApi: InternalApiWorld;
  beforeAll(async () => {
    internalApi = await sharedInternalApi();
  });
  afterAll(() => internalApi.close());

  const SCHEMES: [what: string, schemes: readonly string[]][] = [
    ['as engines do', ['Bearer']],
    ['its token scheme written differently each time', ['Bearer', 'bearer', 'BEARER', 'bEaReR']],
  ];
  test.each(SCHEMES)('serves others while one engine sends endless bodies: %s', async (_, schemes) => {
    const [thief, other] = [await internalApi.addEngine(), await internalApi.addEngine()];
    await other.acquire();
    const half = Buffer.concat([Buffer.from('{"a":"'), randomBytes(2.5 * 1024 * 1024)]);
    const calls: ClientRequest[] = Array.from({ length: 8 }, (__, i) => {
      const call = request(
        {
          ...{
            host: '127.0.0.1',
            port: new URL(internalApi.url).port,
            path: '/engine/inbound',
            method: 'POST',
          },
          headers: {
            authorization: `${schemes[i % schemes.length]} ${thief.token}`,
            'content-type': 'application/json',
          },
        },
        (response) => {
          response.resume();
        },
      );
      call.on('error', () => undefined);
      call.write(half);
      return call;
    });
    try {
      // One of its bodies is read at a time. The others wait unread.
      await other.call('renew', { connected: true });
    } finally {
      for (const call of calls) call.destroy();
    }
    await until(async () => (await other.call('renew', { connected: true })) !== undefined, {
      what: 'the engine is served again',
    });
  });
});
