import { decideNewContact } from './new-contacts.js';

const now = new Date('2026-03-10T12:00:00Z');
const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000);
const calm = { limit: 3, count: 0, oldestAt: null, restrictedUntil: null, now };

test.each([
  ['the first of three passes', { ...calm }, null],
  ['the third of three passes', { ...calm, count: 2, oldestAt: ago(1) }, null],
  ['the fourth waits until the oldest is 24 hours old', { ...calm, count: 3, oldestAt: ago(23) }, 3600],
  ['a moment before that it waits one second', { ...calm, count: 3, oldestAt: ago(23.99999) }, 1],
  ['a limit of none waits a day', { ...calm, limit: 0 }, 86_400],
  ['while the network refuses new contacts, until it stops', { ...calm, restrictedUntil: ago(-2) }, 7200],
  ['a restriction that has ended refuses nothing', { ...calm, restrictedUntil: ago(0) }, null],
  ['a limit lowered below the count refuses', { ...calm, count: 9, oldestAt: ago(12) }, 43_200],
])('%s', (_, given, retryAfter) => {
  const expected = retryAfter === null ? { do: 'accept' } : { do: 'refuse', retryAfter };
  expect(decideNewContact(given)).toEqual(expected);
});
