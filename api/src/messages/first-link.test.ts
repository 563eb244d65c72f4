import { cost, HOSTILE_TEXTS } from '@gwk/test/support/hostile-texts';
import { findFirstLink } from './first-link.js';

const long = (length: number) => `https://example.org/${'a'.repeat(length - 20)}`;

test.each<[string, string | null]>([
  ['see https://example.org/a.', 'https://example.org/a'],
  ['*https://example.org*', 'https://example.org'],
  ['_https://example.org/a_', 'https://example.org/a'],
  ['~https://example.org~ ```https://other.org```', 'https://example.org'],
  ['https://example.org/a.b/?!) and http://other.org', 'https://example.org/a.b/'],
  ['HTTPS://EXAMPLE.ORG/A', 'HTTPS://EXAMPLE.ORG/A'],
  ['https://example.org/a, https://other.org', 'https://example.org/a'],
  ['https://example.org/a…', 'https://example.org/a'],
  ['https://example.org/?q=1&r=%20-', 'https://example.org/?q=1&r=%20-'],
  ['https://example.org:8080/a#b:', 'https://example.org:8080/a#b'],
  ['http://[::1]:80/a]', 'http://[::1]:80/a'],
  ['http:// and https://example.org', 'https://example.org'],
  ['http://', null],
  ['ahttp://example.org', null],
  ['ftp://example.org', null],
  [long(2_048), long(2_048)],
  [long(2_049), null],
])('the first link of %j is %j', (text, link) => {
  expect(findFirstLink(text)?.text ?? null).toBe(link);
});

test.each<[string, string]>([
  ['(https://example.org/a?b=1)', 'https://example.org/a?b=1'],
  ['(http://a.example/)', 'http://a.example/'],
  ['https://en.wikipedia.org/wiki/Mercury_(planet)', 'https://en.wikipedia.org/wiki/Mercury_(planet)'],
  ['(see https://en.wikipedia.org/wiki/Mercury_(planet)).', 'https://en.wikipedia.org/wiki/Mercury_(planet)'],
  ['https://example.org/a_(b_(c))_d!', 'https://example.org/a_(b_(c))_d'],
  ['https://example.org/a[0]?b={c}', 'https://example.org/a[0]?b={c}'],
  ['[https://example.org/a]', 'https://example.org/a'],
  ['[name](https://example.org/a)[other](https://other.org)', 'https://example.org/a'],
  ['[https://example.org](https://example.org)', 'https://example.org'],
  ['<https://example.org/a>', 'https://example.org/a'],
  ['"https://example.org/a"', 'https://example.org/a'],
  ["'https://example.org/a','https://other.org'", 'https://example.org/a'],
  ["https://example.org/L'Aquila'", "https://example.org/L'Aquila"],
  ['«https://example.org/a»', 'https://example.org/a'],
  ['“https://example.org/a”', 'https://example.org/a'],
  ['‘https://example.org/a’', 'https://example.org/a'],
  ['https://example.org/a(', 'https://example.org/a'],
  ['https://example.org/a(b', 'https://example.org/a(b'],
])('the brackets and quotes of %j surround %j', (text, link) => {
  expect(findFirstLink(text)?.text).toBe(link);
});

test.each<[string, string, string]>([
  ['ご覧くださいhttps://example.jp/a。次に', 'https://example.jp/a', 'https://example.jp/a'],
  ['（https://example.jp/a）', 'https://example.jp/a', 'https://example.jp/a'],
  ['「https://example.jp/a」', 'https://example.jp/a', 'https://example.jp/a'],
  ['请看www.example.cn谢谢', 'www.example.cn', 'https://www.example.cn/'],
  ['https://example.comをご覧', 'https://example.com', 'https://example.com/'],
  [
    'https://ja.wikipedia.org/wiki/日本',
    'https://ja.wikipedia.org/wiki/日本',
    'https://ja.wikipedia.org/wiki/%E6%97%A5%E6%9C%AC',
  ],
  ['https://bücher.example/a', 'https://bücher.example/a', 'https://xn--bcher-kva.example/a'],
  ['http://пример.рф', 'http://пример.рф', 'http://xn--e1afmkfd.xn--p1ai/'],
  ['https://例え.テスト/', 'https://例え.テスト/', 'https://xn--r8jz45g.xn--zckzah/'],
  ['да: https://example.org/ёж؟', 'https://example.org/ёж', 'https://example.org/%D1%91%D0%B6'],
])('the link of %j is %j', (text, link, url) => {
  const found = findFirstLink(text);
  expect([found?.text, found?.url.href]).toEqual([link, url]);
});

test.each<[string, string | null]>([
  ['www.example.org', 'https://www.example.org/'],
  ['see (WWW.Example.org/a_(b)).', 'https://www.example.org/a_(b)'],
  ['*www.example.co.uk*', 'https://www.example.co.uk/'],
  ['_www.example.org_', 'https://www.example.org/'],
  ['ana@www.example.org', null],
  ['ftp://www.example.org', null],
  ['my.www.example.org', null],
  ['www.example', null],
  ['www...', null],
  ['www..org', null],
  ['no link: a.example', null],
])('the link without a scheme of %j is %j', (text, url) => {
  expect(findFirstLink(text)?.url.href ?? null).toBe(url);
});

test.each([
  ...HOSTILE_TEXTS,
  ['many hosts without a name', 'www. '.repeat(13_107)],
  ['nested brackets', `https://a.io/${'('.repeat(32_000)}${')'.repeat(33_000)}`],
  ['many links with long hosts', `www.${'\u0316\u0301'.repeat(1_000)} `.repeat(32)],
] as const)('finds the first link within 20 ms in %s', (_, text) => {
  expect(cost(() => findFirstLink(text))).toBeLessThan(20);
});
