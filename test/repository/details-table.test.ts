import { readFileSync } from 'node:fs';
import { DETAILS_FIELDS } from '@gwk/core/resources/details';

test('docs/receiving.md lists the fields of each kind of card', () => {
  const page = readFileSync(new URL('../../docs/receiving.md', import.meta.url), 'utf8');
  const [, table = ''] = page.split('`details` has the facts of a card');
  const rows = [...table.split('`message.edited`')[0]!.matchAll(/^\| `(\w+)` +\| (`.*?`) +\|/gm)];
  const listed = rows.map(([, kind, fields]) => [kind, fields!.replaceAll('`', '').split(', ')]);
  expect(listed).toEqual(Object.entries(DETAILS_FIELDS).map(([kind, fields]) => [kind, Object.keys(fields)]));
});
