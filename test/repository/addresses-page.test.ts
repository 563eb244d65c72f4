import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ADDRESS_FORMS, decidePlace, type PlaceDecision } from '@gwk/core/ids/addresses';

const page = readFileSync(join(import.meta.dirname, '../../docs/receiving.md'), 'utf8');
const WORDS: Record<PlaceDecision, string> = {
  conversation: 'a conversation',
  ignored: 'ignores it',
  unknown: 'reports it with the kind `unknown`',
};

test('docs/receiving.md shows the decision for each form of address', () => {
  const rows = [...page.matchAll(/^\| `([^`]+@[a-z.]+)` +\| (.+?) +\| (.+?) +\|$/gm)];
  expect(rows.map(([, ...cells]) => cells)).toEqual(
    ADDRESS_FORMS.map(({ example, place, decision }) => [example, place, WORDS[decision]]),
  );
});

test('each example has its own form, and other addresses are unknown', () => {
  for (const { example, decision, pattern } of ADDRESS_FORMS) {
    expect([example, decidePlace(example)]).toEqual([example, decision]);
    expect(ADDRESS_FORMS.filter((form) => form.pattern.test(example))).toHaveLength(1);
    expect(pattern.test(example)).toBe(true);
  }
  expect(['77@future', 'x@broadcast', ''].map(decidePlace)).toEqual(['unknown', 'unknown', 'unknown']);
});
