import { MessageEdit, Reaction } from './message.js';

test.each<[string, string, boolean]>([
  ['a removed reaction', '', true],
  ['a thumb', '👍', true],
  ['a thumb with a skin tone', '👍🏽', true],
  ['a heart with a variation selector', '❤️', true],
  ['a family', '👨‍👩‍👧‍👦', true],
  ['a flag', '🇧🇷', true],
  ['a flag of a region', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', true],
  ['a key cap', '1️⃣', true],
  ['two emoji', '👍👍', false],
  ['a letter', 'a', false],
  ['a digit', '1', false],
  ['a word', 'bom', false],
  ['a space', ' ', false],
  ['an emoji and a letter', '👍a', false],
  ['an overlong grapheme', `👍${'\u0301'.repeat(200)}`, false],
])('%s', (_, emoji, accepted) => {
  expect(Reaction.safeParse({ emoji }).success).toBe(accepted);
});

test.each<[string, unknown, boolean]>([
  ['the longest text of an edit', { text: '😀'.repeat(65_536) }, true],
  ['one character more', { text: '😀'.repeat(65_537) }, false],
  ['an empty text', { text: '' }, false],
  ['no text', {}, false],
  ['an unknown field', { text: 'a', body: 'b' }, false],
])('%s', (_, body, accepted) => {
  expect(MessageEdit.safeParse(body).success).toBe(accepted);
});
