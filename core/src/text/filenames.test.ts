import { cleanFilename, extensionOf } from './filenames.js';

test.each<[string, string | null]>([
  ['report.pdf', 'report.pdf'],
  ['../../etc/passwd', 'etcpasswd'],
  ['C:\\files\\a.pdf', 'C:filesa.pdf'],
  ['a\r\nb\u0000.pdf', 'ab.pdf'],
  ['invoice\u202Efdp.exe', 'invoicefdp.exe'],
  ['a\u2028b\u200F.txt', 'ab.txt'],
  ['👨‍👩‍👧.jpg', '👨‍👩‍👧.jpg'],
  [' .hidden ', 'hidden'],
  ['...', null],
  ['', null],
  ['\ud800a.pdf', '\ufffda.pdf'],
  [`${'x'.repeat(300)}.docx`, `${'x'.repeat(250)}.docx`],
  [`${'😀'.repeat(200)}.docx`, `${'😀'.repeat(125)}.docx`],
  ['y'.repeat(300), 'y'.repeat(255)],
  [`${'x'.repeat(10)}.${'y'.repeat(300)}`, `${'x'.repeat(10)}.${'y'.repeat(244)}`],
])('cleans %j', (given, expected) => {
  expect(cleanFilename(given)).toBe(expected);
});

test('replaces separators of received names', () => {
  expect(cleanFilename('Invoice 3/2026\\b.pdf', '_')).toBe('Invoice 3_2026_b.pdf');
});

test.each([
  ['a.PDF', 'pdf'],
  ['a.tar.gz', 'gz'],
  ['a', ''],
  ['a.very long end', ''],
])('extension of %s', (name, expected) => {
  expect(extensionOf(name)).toBe(expected);
});
