import { cost, HOSTILE_TEXTS } from '@gwk/test/support/hostile-texts';
import { normaliseText } from './policy/mass-block.js';
import { recogniseOptOut } from './policy/opt-out-words.js';
import { isTimeZone } from './policy/policy.js';
import { MessageEdit, Reaction } from './resources/message.js';
import { foldText, foldWord, MAX_TYPED } from './text-folding.js';

/** Milliseconds that one function may hold the event loop. */
const MAX_MS = 20;

const words: Parameters<typeof recogniseOptOut>[1] = {
  enabled: true,
  keywords: ['sair'],
  resume_keywords: ['voltar'],
};

/** The gateway reads words in short messages only. */
const typed =
  (read: (text: string) => unknown) =>
  (text: string): unknown =>
    read(text.slice(0, MAX_TYPED));

const FUNCTIONS: [string, (text: string) => unknown][] = [
  ['normaliseText', normaliseText],
  ['foldText', typed(foldText)],
  ['foldWord', typed(foldWord)],
  ['recogniseOptOut', typed((text) => recogniseOptOut(text, words))],
  ['isTimeZone', isTimeZone],
  ['the schema of an edit', (text) => MessageEdit.safeParse({ text })],
  ['the schema of a reaction', (text) => Reaction.safeParse({ emoji: text })],
];

describe.each(FUNCTIONS)('%s takes at most 20 ms', (_, run) => {
  test.each(HOSTILE_TEXTS)('for %s', (__, text) => {
    expect(cost(() => run(text))).toBeLessThan(MAX_MS);
  });
});
