import { isMachineFault } from './machine-fault.js';

const lack = Object.assign(new Error('too many open files'), { code: 'EMFILE' });
const refused = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });

test.each<[string, unknown, boolean]>([
  ['a lack of file handles', lack, true],
  ['a full disk', { code: 'ENOSPC' }, true],
  ['a lack behind another error', new TypeError('fetch failed', { cause: lack }), true],
  ['a lack with one of several addresses', new AggregateError([refused, lack]), true],
  ['a refused connection', refused, false],
  ['an error without code', new Error('x'), false],
  ['no error', undefined, false],
])('recognises %s', (_, error, expected) => {
  expect(isMachineFault(error)).toBe(expected);
});

test('ends with causes that never end', () => {
  const error = new Error('x');
  error.cause = error;
  expect(isMachineFault(error)).toBe(false);
});
