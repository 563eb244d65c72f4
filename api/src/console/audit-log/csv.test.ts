import type { AuditEntryOut } from '@gwk/core/resources/console-audit';
import { CSV_HEADER, toCsvLine } from './csv.js';

const ENTRY: AuditEntryOut = {
  id: 'aud_1',
  at: '2026-05-04T12:00:00.000Z',
  actor: 'gwk:worker',
  actor_name: null,
  action: 'key.create',
  subject: 'key_1',
  detail: { name: 'Loja "A"', scopes: ['messages:read'] },
};

test('renders an entry as one line', () => {
  expect(CSV_HEADER).toBe('at,actor,actor_name,action,subject,detail\r\n');
  expect(toCsvLine(ENTRY)).toBe(
    '"2026-05-04T12:00:00.000Z","gwk:worker","","key.create","key_1","{""name"":""Loja \\""A\\"""",""scopes"":[""messages:read""]}"\r\n',
  );
});

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', ' =1', '|cmd', '=HYPERLINK("x")'])(
  'a spreadsheet reads %j as text',
  (name) => {
    const cell = toCsvLine({ ...ENTRY, actor_name: name }).split('","')[2]!;
    expect(cell.startsWith("'")).toBe(true);
  },
);

test('a line break stays within its cell', () => {
  expect(toCsvLine({ ...ENTRY, actor_name: 'a\nb' })).toContain(',"a\nb",');
});
