import { readKeys } from './keys.js';

test.each([
  ['', 'r', '', [{ do: 'resend', number: null }]],
  ['', '12\n', '', [{ do: 'resend', number: 12 }]],
  ['1', '2', '12', []],
  ['1', 'x\r', '', []],
  ['', '\u0003', '', [{ do: 'quit' }]],
])('after "%s" the keys %j leave "%s" and do %j', (pending, input, left, actions) => {
  expect(readKeys(pending, input)).toEqual({ pending: left, actions });
});
