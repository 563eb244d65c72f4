import { fitExtension, lookUpType } from './filename-type.js';

test.each([
  ['report', 'application/pdf', 'report.pdf'],
  ['report.pdf', 'application/pdf', 'report.pdf'],
  ['REPORT.PDF', 'application/pdf', 'REPORT.PDF'],
  ['download.aspx', 'application/pdf', 'download.aspx.pdf'],
  ['export.php', 'text/csv', 'export.php.csv'],
  ['photo.pdf', 'image/png', 'photo.pdf.png'],
  ['photo.jpeg', 'image/jpeg', 'photo.jpeg'],
  ['song', 'audio/mpeg', 'song.mp3'],
  ['film', 'video/quicktime', 'film.mov'],
  ['film.mp4', 'audio/mp4', 'film.mp4'],
  ['v1.2 of 2026', 'application/pdf', 'v1.2 of 2026.pdf'],
  ['server.log', 'text/plain', 'server.log'],
  ['statement.ofx', 'text/plain', 'statement.ofx'],
  ['notes', 'text/plain', 'notes.txt'],
  ['letter.pdf', 'text/plain', 'letter.pdf.txt'],
  ['a.dat', 'application/octet-stream', 'a.dat'],
  ['a', 'application/octet-stream', 'a'],
  ['a.xyz', 'application/zip', 'a.xyz'],
  ['a', 'application/zip', 'a.zip'],
  ['a.rar', 'application/x-rar-compressed', 'a.rar'],
  ['setup.exe', 'application/x-msdownload', 'setup.exe'],
  ['app.apk', 'application/vnd.android.package-archive', 'app.apk'],
  ['cert.pfx', 'application/x-pkcs12', 'cert.pfx'],
  ['statement', 'application/x-unknown', 'statement'],
  ['nfe.xml', 'text/xml', 'nfe.xml'],
  ['x'.repeat(255), 'application/pdf', `${'x'.repeat(251)}.pdf`],
])('%s of the type %s', (filename, type, expected) => {
  expect(fitExtension(filename, type)).toBe(expected);
});

test.each([
  ['a.pdf', 'application/pdf'],
  ['a.php', null],
  ['a', null],
  [null, null],
])('the name %s promises %s', (filename, expected) => {
  expect(lookUpType(filename)).toBe(expected);
});
