import { ContactChanges } from './contact-changes.js';

test('allows each instance so many changes a minute', () => {
  let now = 0;
  const changes = new ContactChanges(2, () => now);
  changes.count('a');
  expect(changes.allow('a')).toBe(true);
  changes.count('a');
  expect(changes.allow('a')).toBe(false);
  expect(changes.allow('b')).toBe(true);
  now = 60_000;
  expect(changes.allow('a')).toBe(true);
});
