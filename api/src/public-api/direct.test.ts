import type { RequestHandler } from 'express';
import { directly } from './direct.js';
import type { Exchange, Reply } from '../http/exchange.js';
import { OPERATIONS } from './operations.js';

const soon = () => new Promise((resolve) => setImmediate(resolve));

/** What happens to a request, in order. */
async function happens(req: { method: string; url: string }, steps: RequestHandler[] = []) {
  const seen: string[] = [];
  const listener = directly(
    {
      method: 'POST',
      url: '/v1/messages',
      steps: [(_req, _res, next) => (seen.push('first'), next()), ...steps, () => void seen.push('last')],
      failed: (error) => seen.push(`failed: ${String(error)}`),
    },
    () => void seen.push('others'),
  );
  listener(req as Exchange, {} as Reply, () => undefined);
  await soon();
  return seen;
}
const hot = { method: 'POST', url: '/v1/messages' };

test('the first operation of the table is the one that is sent most, and has no parameters', () => {
  expect(OPERATIONS[0]).toMatchObject({ name: 'sendMessage', path: '/v1/messages' });
});

test('its steps are taken in order, and each waits for the one before it', async () => {
  let go = () => {};
  const waits: RequestHandler = (_req, _res, next) => void (go = next);
  const seen = await happens(hot, [waits]);
  expect(seen).toEqual(['first']);
  go();
  expect(seen).toEqual(['first', 'last']);
});

test.each([
  ['another method', { ...hot, method: 'GET' }],
  ['a query', { ...hot, url: '/v1/messages?a=1' }],
  ['a slash at the end', { ...hot, url: '/v1/messages/' }],
  ['other letters', { ...hot, url: '/v1/Messages' }],
])('%s goes the common way', async (_name, req) => {
  expect(await happens(req)).toEqual(['others']);
});

test.each<[string, RequestHandler]>([
  ['passes on an error', (_req, _res, next) => next('fault')],
  [
    'throws',
    () => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error
      throw 'fault';
    },
  ],
  // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
  ['rejects', () => Promise.reject('fault')],
])('nothing follows a step that %s', async (_name, step) => {
  expect(await happens(hot, [step])).toEqual(['first', 'failed: fault']);
});
