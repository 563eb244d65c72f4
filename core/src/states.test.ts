import { canAdvance, MESSAGE_STATUSES, decideWaiting, type MessageStatus } from './states.js';

describe('canAdvance', () => {
  const allowed = new Set([
    'queued>sending',
    'queued>failed',
    'queued>sent',
    'queued>delivered',
    'queued>read',
    'sending>queued',
    'sending>sent',
    'sending>delivered',
    'sending>read',
    'sending>failed',
    'sent>delivered',
    'sent>read',
    'delivered>read',
  ]);
  const pairs = MESSAGE_STATUSES.flatMap((from) =>
    MESSAGE_STATUSES.map((to): [MessageStatus, MessageStatus] => [from, to]),
  );
  test.each(pairs)('%s to %s', (from, to) => {
    expect(canAdvance(from, to, null)).toBe(allowed.has(`${from}>${to}`));
  });

  test.each(['sent', 'delivered', 'read'] as const)('corrects `timeout` to %s', (to) => {
    expect(canAdvance('failed', to, 'timeout')).toBe(true);
    expect(canAdvance('failed', to, 'expired')).toBe(false);
  });
});

test.each([
  ['pending_pair', 'not_paired'],
  ['logged_out', 'not_paired'],
  ['banned', 'not_connected'],
  ['connecting', 'wait'],
  ['disconnected', 'wait'],
  ['connected', 'wait'],
] as const)('a message of an instance that is %s: %s', (state, expected) => {
  expect(decideWaiting(state)).toBe(expected);
});
