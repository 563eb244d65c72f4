import { sniff } from './sniff.js';

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ', 'base64');
const ZIP = Buffer.from('504b03041400000008000000210000000000000000000000000001000000612e747874', 'hex');
const OLE = Buffer.from('d0cf11e0a1b11ae1000000000000000000000000000000003e000300feff0900', 'hex');
const PDF = Buffer.from('%PDF-1.7\n');
const UTF16 = Buffer.from('h\0e\0l\0l\0o\0', 'latin1');

test.each<[string, Buffer, [filename: string | null, declared: string | null], string]>([
  ['a PNG by any name', PNG, ['a.exe', 'text/html'], 'image/png'],
  ['a PDF', PDF, [null, null], 'application/pdf'],
  ['a ZIP', ZIP, ['a.zip', null], 'application/zip'],
  [
    'a ZIP named .docx is a Word document',
    ZIP,
    ['a.DOCX', null],
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  ],
  ['an old Excel document', OLE, ['a.xls', null], 'application/vnd.ms-excel'],
  ['text', Buffer.from('olá'), ['a.png', 'image/png'], 'text/plain'],
  ['text named .csv', Buffer.from('a;b'), ['a.csv', null], 'text/csv'],
  ['text declared as HTML', Buffer.from('<p>'), [null, 'Text/HTML; charset=utf-8'], 'text/html'],
  [
    'a playlist is text',
    Buffer.from('#EXTM3U\n#EXTINF:1\nfile:///etc/passwd'),
    ['a.mp4', 'video/mp4'],
    'text/plain',
  ],
  ['SVG named .png is text', Buffer.from('<svg xmlns="x"/>'), ['a.png', 'image/png'], 'text/plain'],
  ['SVG named .svg', Buffer.from('<?xml version="1.0"?><svg/>'), ['a.svg', null], 'image/svg+xml'],
  ['an unknown format', Buffer.from([0, 1, 2, 3]), ['a.png', 'image/png'], 'application/octet-stream'],
  ['text with NUL', UTF16, ['a.txt', 'text/plain'], 'application/octet-stream'],
  [
    'text whose sample ends inside a character',
    Buffer.from('olá').subarray(0, 3),
    [null, null],
    'text/plain',
  ],
])('%s', async (_, head, [filename, declared], expected) => {
  expect(await sniff(head, { filename, declared })).toBe(expected);
});
