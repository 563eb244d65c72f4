import { parseJson } from './body.js';

const parse = (text: string | Buffer) => parseJson(Buffer.from(text));

test.each([
  ['an object', '{"a":1}', { a: 1 }],
  ['characters of four bytes', '"😀"', '😀'],
  ['a backslash before u0000', String.raw`"\\u0000"`, String.raw`\u0000`],
  ['brackets in a string', JSON.stringify('['.repeat(5000)), '['.repeat(5000)],
  ['an escaped quote in a string', JSON.stringify('"[' + '['.repeat(500)), '"[' + '['.repeat(500)],
])('reads %s', (_, text, value) => expect(parse(text)).toEqual(value));

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
])('refuses %s', (_, text, code) => {
  let refusal: unknown;
  try {
    parse(text);
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toMatchObject({ code: 'validation-error', extras: { errors: [{ path: '', code }] } });
});
