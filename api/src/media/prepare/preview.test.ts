import { Readable } from 'node:stream';
import { cost, HOSTILE_TEXTS } from '@gwk/test/support/hostile-texts';
import { firstLink, readPage } from './preview.js';

test.each<[string, string | null]>([
  ['see https://example.org/a.', 'https://example.org/a'],
  ['(https://example.org/a?b=1)', 'https://example.org/a?b=1'],
  ['*https://example.org*', 'https://example.org'],
  ['https://example.org/a.b/?!) and http://other.org', 'https://example.org/a.b/'],
  ['(http://a.example/)', 'http://a.example/'],
  ['no link: a.example', null],
  ['http://', null],
  [`https://example.org/${'a'.repeat(2_028)}`, `https://example.org/${'a'.repeat(2_028)}`],
  [`https://example.org/${'a'.repeat(2_029)}`, null],
])('the first link of %j is %j', (text, link) => {
  expect(firstLink(text)).toBe(link);
});

test.each(HOSTILE_TEXTS)('finds the first link within 20 ms in %s', (_, text) => {
  expect(cost(() => firstLink(text))).toBeLessThan(20);
});

test.each<[string, string, Record<string, string | null>]>([
  ['only a title', '<title> A\n b </title>', { title: 'A b', description: null, image: null }],
  ['og:title before title', '<title>A</title><meta property="og:title" content="B">', { title: 'B' }],
  ['ignores the body', '<head></head><body><title>A</title>', { title: null }],
  ['not HTML', '\u0000\u0001', { title: null }],
  ['an unclosed title', `<title>${'x'.repeat(2_000_000)}`, { title: `${'x'.repeat(199)}…` }],
])('page metadata: %s', async (_, html, expected) => {
  expect(await readPage(Readable.from([Buffer.from(html)]))).toMatchObject(expected);
});
