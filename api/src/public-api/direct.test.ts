import type { RequestHandler } from 'express';
import { directly } from './direct.js';
import type { Exchange, Reply } from '../http/exchange.js';
import { OPERATIONS } from './operations.js';

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Sends a request and returns the called steps, in order. */
async function traceSteps(req: { method: string; url: string }, steps: RequestHandler[] = []) {
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
  await nextTurn();
  return seen;
}
const send = { method: 'POST', url: '/v1/messages' };

test('the first operation of the table is the busiest one, and has no parameters', () => {
  expect(OPERATIONS[0]).toMatchObject({ name: 'sendMessage', path: '/v1/messages' });
});

test('runs the steps in order, each after the one before', async () => {
  let proceed = () => {};
  const waiting: RequestHandler = (_req, _res, next) => void (proceed = next);
  const seen = await traceSteps(send, [waiting]);
  expect(seen).toEqual(['first']);
  proceed();
  expect(seen).toEqual(['first', 'last']);
});

test.each([
  ['another method', { ...send, method: 'GET' }],
  ['a query', { ...send, url: '/v1/messages?a=1' }],
  ['a trailing slash', { ...send, url: '/v1/messages/' }],
  ['other letter case', { ...send, url: '/v1/Messages' }],
])('routes %s through Express', async (_name, req) => {
  expect(await traceSteps(req)).toEqual(['others']);
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
])('stops after a step that %s', async (_name, step) => {
  expect(await traceSteps(send, [step])).toEqual(['first', 'failed: fault']);
});
