import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { readHead } from './preview.js';

test.each<[string, string[], string]>([
  ['the end of the head', ['<title>A</title></he', 'AD><body>', 'more'], '<title>A</title></heAD><body>'],
  ['the end of the page', ['<title>A', '</title>'], '<title>A</title>'],
  ['512 kB', ['x'.repeat(511_999), 'yz', 'more'], `${'x'.repeat(511_999)}y`],
])('reads a page up to %s', async (_, parts, expected) => {
  const body = Readable.from(parts.map((part) => Buffer.from(part)));
  expect((await buffer(readHead(body))).toString()).toBe(expected);
});

test('reads the part of a page that came before its connection broke', async () => {
  const broken = async function* () {
    yield Buffer.from('<title>A</title>');
    await Promise.reject(new Error('broken'));
  };
  expect((await buffer(readHead(Readable.from(broken())))).toString()).toBe('<title>A</title>');
});
