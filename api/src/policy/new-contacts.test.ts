import { decideNewContact } from './new-contacts.js';

const now = new Date('2026-03-10T12:00:00Z');
const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000);
const calm = { limit: 3, count: 0, oldestAt: null, restrictedUntil: null, now };

test.each([
  ['accepts the first of 3', { ...calm }, null],
  ['accepts the third of 3', { ...calm, count: 2, oldestAt: ago(1) }, null],
  ['refuses the fourth until the oldest is 24 hours old', { ...calm, count: 3, oldestAt: ago(23) }, 3600],
  ['asks to wait at least 1 second', { ...calm, count: 3, oldestAt: ago(23.99999) }, 1],
  ['asks to wait a day with a limit of 0', { ...calm, limit: 0 }, 86_400],
  ['refuses until the end of a restriction by the network', { ...calm, restrictedUntil: ago(-2) }, 7200],
  ['ignores an ended restriction', { ...calm, restrictedUntil: ago(0) }, null],
  ['refuses after the limit was lowered below the count', { ...calm, count: 9, oldestAt: ago(12) }, 43_200],
])('%s', (_, given, retryAfter) => {
  const expected = retryAfter === null ? { do: 'accept' } : { do: 'refuse', retryAfter };
  expect(decideNewContact(given)).toEqual(expected);
});
