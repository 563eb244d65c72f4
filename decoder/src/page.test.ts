import { decodePage, parsePage } from './page.js';

test.each<[string, string, Record<string, string | null>]>([
  ['only a title', '<title> A\n b </title>', { title: 'A b', description: null, image: null }],
  ['og:title before title', '<title>A</title><meta property="og:title" content="B">', { title: 'B' }],
  ['ignores the body', '<head></head><body><title>A</title>', { title: null }],
  [
    'ignores what follows the head',
    '<head><title>A</title></head><meta name="description" content="B">',
    { description: null },
  ],
  ['not HTML', '\u0000\u0001', { title: null }],
  ['an unclosed title', `<title>${'x'.repeat(500_000)}`, { title: `${'x'.repeat(199)}…` }],
  ['a long URL of a picture', `<meta property="og:image" content="/${'x'.repeat(2_048)}">`, { image: null }],
])('page metadata: %s', (_, html, expected) => {
  expect(parsePage(html)).toMatchObject(expected);
});

const META = (charset: string) => `<html><head><meta charset="${charset}">`;
const HTTP_EQUIV = (charset: string) =>
  `<meta http-equiv="Content-Type" content="text/html; charset=${charset}">`;
/** The words "Привет", "日本語", "你好" and "café", in bytes of an encoding. */
const WORDS = {
  'windows-1251': ['cff0e8e2e5f2', 'Привет'],
  'koi8-r': ['f0d2c9d7c5d4', 'Привет'],
  shift_jis: ['93fa967b8cea', '日本語'],
  'euc-jp': ['c6fccbdcb8ec', '日本語'],
  'iso-2022-jp': ['1b2442467c4b5c386c1b2842', '日本語'],
  gbk: ['c4e3bac3', '你好'],
  gb18030: ['c4e3bac3', '你好'],
  big5: ['a741a66e', '你好'],
  'euc-kr': ['c7d1b1b9', '한국'],
  'iso-8859-1': ['636166e9', 'café'],
  'iso-8859-9': ['fddcfe', 'ıÜş'],
  'utf-8': ['636166c3a9', 'café'],
} as const;
type Charset = keyof typeof WORDS;
const titled = (charset: Charset, head = ''): Buffer =>
  Buffer.concat([
    Buffer.from(`${head}<title>`),
    Buffer.from(WORDS[charset][0], 'hex'),
    Buffer.from('</title>'),
  ]);
const titleOf = (bytes: Buffer, charset: string | null = null) => parsePage(decodePage(bytes, charset)).title;

describe.each(Object.keys(WORDS) as Charset[])('reads a page in %s', (charset) => {
  test.each<[string, Buffer, string | null]>([
    ['by its server', titled(charset), charset],
    ['by its server, in capitals', titled(charset), charset.toUpperCase()],
    ['by its server against its own statement', titled(charset, META('iso-8859-2')), charset],
    ['by its own statement', titled(charset, META(charset)), null],
    [
      'by its own statement where the server names none that exists',
      titled(charset, META(charset)),
      'utf8mb4',
    ],
    ['by its statement for old browsers', titled(charset, HTTP_EQUIV(charset)), null],
    [
      'by its statement after 2,000 bytes',
      titled(charset, `<!--${'x'.repeat(2_000)}-->${META(charset)}`),
      null,
    ],
  ])('%s', (_, bytes, label) => {
    expect(titleOf(bytes, label)).toBe(WORDS[charset][1]);
  });
});

test.each<[string, Buffer, string | null, string]>([
  ['by its mark against its server', Buffer.from('\ufeff<title>é</title>'), 'iso-8859-1', 'é'],
  ['UTF-16 by its mark', Buffer.from('\ufeff<title>é</title>', 'utf16le'), 'utf-8', 'é'],
  ['UTF-8 that nobody states', titled('utf-8'), null, 'café'],
  [
    'UTF-8 that nobody states, cut within a character',
    Buffer.from('<title>é').subarray(0, 8),
    null,
    '\ufffd',
  ],
  ['Latin letters that nobody states', titled('iso-8859-1'), null, 'café'],
  ['an encoding that browsers refuse', titled('utf-8'), 'utf-7', 'café'],
])('reads a page: %s', (_, bytes, charset, title) => {
  expect(titleOf(bytes, charset)).toBe(title);
});

test.each(['x-user-defined', '\u0000', ''])('a page with the charset %j has a title', (charset) => {
  expect(titleOf(titled('utf-8', META(charset)), charset)).not.toBeNull();
});
