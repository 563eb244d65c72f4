import { HEAD_BYTES, refineType, sniff } from './sniff.js';

const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ', 'base64');
const ZIP = Buffer.from('504b03041400000008000000210000000000000000000000000001000000612e747874', 'hex');
const OLE = Buffer.from('d0cf11e0a1b11ae1000000000000000000000000000000003e000300feff0900', 'hex');
const PDF = Buffer.from('%PDF-1.7\n');
const DER = Buffer.from('308209c002010330820986', 'hex');
const OFX = Buffer.from('OFXHEADER:100\nDATA:OFXSGML\n');
const PAGE = Buffer.from('<!DOCTYPE html><html><head><title>Log in</title>');
const JSON_ERROR = Buffer.from('{"error": "expired"}');
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
  [
    'a ZIP declared as an app',
    ZIP,
    ['download', 'application/vnd.android.package-archive'],
    'application/vnd.android.package-archive',
  ],
  [
    'a ZIP named like an app',
    ZIP,
    ['a.apk', 'application/octet-stream'],
    'application/vnd.android.package-archive',
  ],
  ['a ZIP declared as a picture', ZIP, ['a.png', 'image/png'], 'application/zip'],
  ['a ZIP declared as a page', ZIP, [null, 'text/html'], 'application/zip'],
  ['a certificate by its declared type', DER, ['a.bin', 'application/x-pkcs12'], 'application/x-pkcs12'],
  ['a certificate by its name', DER, ['a.pfx', 'application/octet-stream'], 'application/x-pkcs12'],
  ['bytes declared as PDF', DER, ['a.pdf', 'application/pdf'], 'application/octet-stream'],
  ['a bank statement by its declared type', OFX, ['a.ofx', 'application/x-ofx'], 'application/x-ofx'],
  ['a page named .pdf', PAGE, ['a.pdf', 'application/pdf'], 'text/html'],
  ['a page in Latin-1', Buffer.from('<html><p>Não existe', 'latin1'), ['a.pdf', null], 'text/html'],
  ['a page in UTF-16', Buffer.from('\ufeff<html>', 'utf16le'), ['a.pdf', null], 'text/html'],
  [
    'a page in the other UTF-16',
    Buffer.from('\ufeff<html>', 'utf16le').swap16(),
    ['a.pdf', null],
    'text/html',
  ],
  ['an error in Latin-1', Buffer.from('{"erro": "não"}', 'latin1'), ['a.pdf', null], 'application/json'],
  ['a page named .csv', PAGE, ['a.csv', null], 'text/html'],
  ['a page named .md', PAGE, ['a.md', null], 'text/markdown'],
  ['a page with a comment before', Buffer.from('\ufeff <!-- x -->\n<HTML>'), [null, null], 'text/html'],
  ['an error in JSON named .pdf', JSON_ERROR, ['a.pdf', 'application/pdf'], 'application/json'],
  ['long JSON', Buffer.from(`[{"a": 1}, "${'x'.repeat(HEAD_BYTES)}`), ['a.pdf', null], 'application/json'],
  ['text in brackets', Buffer.from('[draft]'), ['a.csv', null], 'text/csv'],
])('%s', async (_, head, [filename, declared], expected) => {
  expect(await sniff(head, { filename, declared })).toBe(expected);
});

const KML = 'application/vnd.google-earth.kml+xml';
const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
test.each<[type: string, filename: string | null, expected: string]>([
  ['application/zip', 'a.xlsx', XLSX],
  ['application/zip', 'a.png', 'application/zip'],
  ['application/x-ole-storage', 'a.xls', 'application/vnd.ms-excel'],
  ['text/plain', 'a.csv', 'text/csv'],
  ['text/plain', 'a.png', 'text/plain'],
  ['text/plain', 'a.kml', KML],
  ['application/xml', 'a.kml', KML],
  ['application/xml', 'a.pdf', 'application/xml'],
  ['application/octet-stream', 'a.pfx', 'application/x-pkcs12'],
  ['application/octet-stream', 'a.pdf', 'application/octet-stream'],
  ['image/png', 'a.csv', 'image/png'],
  ['text/plain', null, 'text/plain'],
])('%s under the name %s is %s', (type, filename, expected) => {
  expect(refineType(type, filename)).toBe(expected);
});

test('reads an archive of tiny entries within 50 ms of processor time', async () => {
  const entry = Buffer.alloc(31, 'a');
  entry.fill(0, 4, 30).writeUInt32LE(0x04034b50);
  entry.writeUInt16LE(1, 26);
  const head = Buffer.alloc(HEAD_BYTES, entry);
  const times: number[] = [];
  for (let run = 0; run < 5; run++) {
    const before = process.threadCpuUsage();
    expect(await sniff(head, { filename: null, declared: null })).toBe('application/zip');
    const { user, system } = process.threadCpuUsage(before);
    times.push((user + system) / 1_000);
  }
  expect(Math.min(...times)).toBeLessThan(50);
});
