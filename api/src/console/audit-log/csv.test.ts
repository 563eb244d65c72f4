import type { AuditEntryOut } from '../../resources/console/audit.js';
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

test.each([
  '=1+1',
  '+1',
  '-1',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  ' =1',
  '|cmd',
  '=HYPERLINK("x")',
  '\uff1d1',
  '\uff0b1',
  '\uff20A',
  '\ufe661',
  '\u22121',
  '\u3000=1',
])('a spreadsheet reads %j as text', (name) => {
  const cell = toCsvLine({ ...ENTRY, actor_name: name }).split('","')[2]!;
  expect(cell.startsWith("'")).toBe(true);
});

test.each([
  ['Loja;=1+1', "Loja;'=1+1"],
  ['Loja; =1+1', "Loja;' =1+1"],
  ['Loja;\uff1d1', "Loja;'\uff1d1"],
  ['Loja\t@A1', "Loja\t'@A1"],
  ['Loja\n-1', "Loja\n'-1"],
  ['a;b=1, c-d; e', 'a;b=1, c-d; e'],
])('a spreadsheet with another separator reads %j as text', (name, cell) => {
  expect(toCsvLine({ ...ENTRY, actor_name: name }).split('","')[2]).toBe(cell);
});

test('a line break stays within its cell', () => {
  expect(toCsvLine({ ...ENTRY, actor_name: 'a\nb' })).toContain(',"a\nb",');
});
