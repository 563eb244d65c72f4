import { email } from './session.js';

const accepts = (value: string) => email().safeParse(value).success;

test.each([
  'ana@example.com',
  'Ana.Souza+alerts@mail.example.com.br',
  "o'neil_jr@example.org",
  'local@localhost',
  'ana@xn--exmplo-4ua.com.br',
  `${'a'.repeat(64)}@example.com`,
])('accepts %s', (value) => {
  expect(email().parse(value)).toBe(value.toLowerCase());
});

test.each(
  [...':/?#<>,;"@ ()[]\\\n\r\u0000\u0085\u200B\u200D\u2060\uFEFF\u00AD'].map((character) => [
    JSON.stringify(character),
    character,
  ]),
)('refuses %s in the name and in the domain', (_, character) => {
  expect(accepts(`ana${character}b@example.com`)).toBe(false);
  expect(accepts(`ana@exam${character}ple.com`)).toBe(false);
});

test.each([
  ['a Cyrillic letter', 'owner\u0430@example.com'],
  ['only Cyrillic letters', '\u0441\u043E\u0441\u043E@example.com'],
  ['a Latin letter that looks like another', '\u0251na@example.com'],
  ['full-width letters', '\uFF41na@example.com'],
  ['a long s, which folds to s', 'o\u017Fa@example.com'],
  ['a Kelvin sign, which folds to k', '\u212Aa@example.com'],
  ['a domain of other letters', 'ana@ex\u0430mple.com'],
  ['two dots', 'ana..b@example.com'],
  ['a dot at the end', 'ana.@example.com'],
  ['an empty label', 'ana@example..com'],
  ['a hyphen before a dot', 'ana@example-.com'],
  ['a name of 65 characters', `${'a'.repeat(65)}@example.com`],
  ['no domain', 'ana@'],
])('refuses %s', (_, value) => {
  expect(accepts(value)).toBe(false);
});
