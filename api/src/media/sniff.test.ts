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
    'a document of Word is a ZIP with a name',
    ZIP,
    ['a.DOCX', null],
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  ],
  ['an old document of Excel', OLE, ['a.xls', null], 'application/vnd.ms-excel'],
  ['text', Buffer.from('olá'), ['a.png', 'image/png'], 'text/plain'],
  ['text that is called CSV', Buffer.from('a;b'), ['a.csv', null], 'text/csv'],
  ['text that its sender calls HTML', Buffer.from('<p>'), [null, 'Text/HTML; charset=utf-8'], 'text/html'],
  [
    'a playlist is text',
    Buffer.from('#EXTM3U\n#EXTINF:1\nfile:///etc/passwd'),
    ['a.mp4', 'video/mp4'],
    'text/plain',
  ],
  [
    'SVG is no image unless its name says what it is',
    Buffer.from('<svg xmlns="x"/>'),
    ['a.png', 'image/png'],
    'text/plain',
  ],
  ['SVG by its name', Buffer.from('<?xml version="1.0"?><svg/>'), ['a.svg', null], 'image/svg+xml'],
  ['what nobody knows', Buffer.from([0, 1, 2, 3]), ['a.png', 'image/png'], 'application/octet-stream'],
  ['text with NUL', UTF16, ['a.txt', 'text/plain'], 'application/octet-stream'],
  [
    'text whose sample ends within a character',
    Buffer.from('olá').subarray(0, 3),
    [null, null],
    'text/plain',
  ],
])('%s', async (_, head, [filename, declared], expected) => {
  expect(await sniff(head, { filename, declared })).toBe(expected);
});
