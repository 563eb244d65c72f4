import { renderMail } from './render.js';

const MAIL = {
  language: 'pt-BR',
  subject: 'Convite para "A & B"',
  paragraphs: ['Olá <b>Ana</b>,', 'primeira linha\nsegunda linha'],
  link: { label: "Abrir o 'console'", url: 'https://example.org/?a=1&b="2"' },
} as const;

test('renders paragraphs and link as plain text', () => {
  const { subject, text } = renderMail(MAIL);
  expect(subject).toBe('Convite para "A & B"');
  expect(text).toBe(
    'Olá <b>Ana</b>,\n\nprimeira linha\nsegunda linha\n\nAbrir o \'console\':\nhttps://example.org/?a=1&b="2"\n',
  );
});

test('escapes every text in HTML, and names the language', () => {
  const { html } = renderMail(MAIL);
  expect(html).toContain('<html lang="pt-BR">');
  expect(html).toContain('<title>Convite para &quot;A &amp; B&quot;</title>');
  expect(html).toContain('<p>Olá &lt;b&gt;Ana&lt;/b&gt;,</p>\n<p>primeira linha<br>segunda linha</p>');
  expect(html).toContain(
    '<a href="https://example.org/?a=1&amp;b=&quot;2&quot;">Abrir o &#39;console&#39;</a>',
  );
});
