import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { ClientGone, parseJson, readChunks } from './body.js';

const parse = (text: string | Buffer) => parseJson(Buffer.from(text));

test.each([
  ['an object', '{"a":1}', { a: 1 }],
  ['characters of four bytes', '"😀"', '😀'],
  ['a backslash before u0000', String.raw`"\\u0000"`, String.raw`\u0000`],
  ['brackets in a string', JSON.stringify('['.repeat(5000)), '['.repeat(5000)],
  ['commas in a string', JSON.stringify(','.repeat(20_000)), ','.repeat(20_000)],
  ['an escaped quote in a string', JSON.stringify('"[' + '['.repeat(500)), '"[' + '['.repeat(500)],
])('reads %s', (_, text, value) => expect(parse(text)).toEqual(value));

test.each([
  ['10,000 items', Array(10_000).fill(1)],
  ['5,000 arrays with an item', Array(5_000).fill([1])],
])('reads %s', (_, value) => expect(parse(JSON.stringify(value))).toEqual(value));

test.each([
  ['an empty body', '', 'json'],
  ['half an object', '{"a":', 'json'],
  ['a trailing comma', '[1,]', 'json'],
  ['a byte order mark', '\uFEFF{}', 'json'],
  ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'utf-8'],
  ['half a character', Buffer.from([0x22, 0xf0, 0x9f, 0x22]), 'utf-8'],
  ['an escaped NUL', String.raw`{"a":["\u0000"]}`, 'nul'],
  ['an escaped NUL in a name', String.raw`{"\u0000":1}`, 'nul'],
  ['endless nesting', '['.repeat(300) + ']'.repeat(300), 'depth'],
  ['10,001 items', `[${Array(10_001).fill(1).join()}]`, 'too-many'],
  ['5,001 arrays with an item', `[${Array(5_001).fill('[1]').join()}]`, 'too-many'],
  [
    '11,000 fields',
    JSON.stringify(Object.fromEntries(Array.from({ length: 11_000 }, (_, i) => [`f${i}`, 1]))),
    'too-many',
  ],
])('refuses %s', (_, text, code) => {
  let refusal: unknown;
  try {
    parse(text);
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toMatchObject({ code: 'validation-error', extras: { errors: [{ path: '', code }] } });
});

test('a request that was closed before it is read is refused', async () => {
  const request = new IncomingMessage(new Socket());
  request.destroy();
  await once(request, 'close');
  await expect(readChunks(request, () => undefined)).rejects.toThrow(ClientGone);
});
