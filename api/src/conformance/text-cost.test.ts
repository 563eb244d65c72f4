import { cost, HOSTILE_TEXTS } from '@gwk/test/support/hostile-texts';
import { normaliseText } from '../policy/mass-block.js';
import { recogniseOptOut } from '../policy/opt-out-words.js';
import { isTimeZone } from '../policy/policy.js';
import { recogniseReply } from '../inbound/menus/replies.js';
import { InteractiveContent, PollContent, TextContent } from '@gwk/core/resources/content';
import { MessageEdit, Reaction } from '@gwk/core/resources/message';
import { foldText, foldWord, MAX_TYPED } from '@gwk/core/text/text-folding';

/** Milliseconds that one function may hold the event loop. */
const MAX_MS = 20;

const words: Parameters<typeof recogniseOptOut>[1] = {
  enabled: true,
  keywords: ['sair'],
  resume_keywords: ['voltar'],
};

const menu: Parameters<typeof recogniseReply>[1][number] = {
  messageId: 'menu',
  waMessageId: 'WA1',
  kind: 'interactive',
  mode: 'text',
  options: Array.from({ length: 100 }, (_, index) => ({
    id: `${index}`,
    label: 'Sim 👍',
    number: index + 1,
  })),
  sentAt: new Date(0),
  answeredAt: null,
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
  [
    'recogniseReply',
    typed((text) => recogniseReply({ text, quotedWaMessageId: null, at: new Date(0) }, [menu], 24)),
  ],
  ['isTimeZone', isTimeZone],
  ['the schema of a text', (text) => TextContent.safeParse({ body: text })],
  [
    'the schema of a menu',
    (text) =>
      InteractiveContent.safeParse({
        body: text,
        list: { button: text, sections: [{ rows: [{ id: text, title: text, description: text }] }] },
      }),
  ],
  [
    'the schema of a poll',
    (text) =>
      PollContent.safeParse({
        name: text,
        options: Array.from({ length: 12 }, (_, index) => ({
          id: `${index}`,
          label: text.slice(index, 1600),
        })),
      }),
  ],
  ['the schema of an edit', (text) => MessageEdit.safeParse({ text })],
  ['the schema of a reaction', (text) => Reaction.safeParse({ emoji: text })],
];

describe.each(FUNCTIONS)('%s takes at most 20 ms', (_, run) => {
  test.each(HOSTILE_TEXTS)('for %s', (__, text) => {
    expect(cost(() => run(text))).toBeLessThan(MAX_MS);
  });
});
