import { cost } from '@gwk/test/support/hostile-texts';
import { parseVcards } from './vcards.js';

const card = (...lines: string[]) => ['BEGIN:VCARD', ...lines, 'END:VCARD'].join('\r\n');

test.each<[string, string, string[]]>([
  ['a number with its id', 'TEL;type=CELL;waid=5511900000009:+55 11 90000-0009', ['5511900000009']],
  ['an id in quotes', 'TEL;waid="5511900000009";type=CELL:+55 11', ['5511900000009']],
  ['a group', 'item1.TEL:+55 (11) 90000-0010', ['5511900000010']],
  ['a URI', 'TEL;VALUE=uri;TYPE="voice,home":tel:+1-201-555-0123', ['12015550123']],
  ['a URI with an extension', 'TEL;VALUE=uri:tel:+1-201-555-0123;ext=102', ['12015550123']],
  ['a colon in a quoted parameter', 'TEL;TYPE="a:b;c":+55 11 4000', ['55114000']],
  ['an extension after x', 'TEL:+1 201 555 0123 x102', ['12015550123']],
  ['an extension in words', 'TEL:(11) 4000-1234 ramal 22', ['1140001234']],
  ['an extension after a comma', 'TEL:+12015550123,,102', ['12015550123']],
  ['an extension after #', 'TEL:+12015550123#102', ['12015550123']],
  ['a trunk zero', 'TEL:+44 (0)20 7946 0018', ['442079460018']],
  ['a trunk zero without country code', 'TEL:(0)20 7946 0018', ['02079460018']],
  ['other dashes and full-width digits', 'TEL:+55\u00a011\u20119000', ['55119000']],
  ['a folded line', 'TEL;type=CELL;\r\n waid=5511900000009:+55 11\r\n  90000-0009', ['5511900000009']],
  ['a folded number', 'TEL:+55 11 9000\r\n 0-0009', ['5511900000009']],
  ['quoted-printable', 'TEL;CELL;ENCODING=QUOTED-PRINTABLE:=2B55=2011=\r\n=39=30000', ['551190000']],
  ['the short form of 2.1', 'TEL;HOME;VOICE;QUOTED-PRINTABLE:=2B5511', ['5511']],
  ['lower case', 'tel;type=cell:+5511', ['5511']],
  ['the same number twice', 'TEL:+55 11\r\nTEL:+5511', ['5511']],
  ['a word', 'TEL:ask me', []],
  ['no value', 'TEL:', []],
  ['another property', 'X-TEL-NOTE:55\r\nEMAIL:a1@example.com', []],
])('reads %s', (_, line, phones) => {
  expect(parseVcards(card('VERSION:3.0', line))).toMatchObject([{ name: null, phones }]);
});

test('reads organisation, addresses, e-mails and numbers with their labels', () => {
  const [contact] = parseVcards(
    card(
      ...['FN:Ana', 'ORG:Loja\\, Lda;Vendas', 'ADR;TYPE=WORK:;;Rua A 1;Recife;PE;50000;Brasil'],
      ...['EMAIL;type=INTERNET:ana@example.com', 'item1.TEL;waid=5511900000009:+55 11 90000-0009'],
      ...['item1.X-ABLabel:_$!<Mobile>!$_', 'TEL;TYPE=pref,HOME:(11) 4000-0000', 'TEL:190'],
    ),
  );
  expect(contact!.facts).toEqual({
    organization: 'Loja, Lda, Vendas',
    emails: ['ana@example.com'],
    addresses: ['Rua A 1, Recife, PE, 50000, Brasil'],
    numbers: [
      { number: '+55 11 90000-0009', label: 'Mobile', id: '5511900000009' },
      { number: '(11) 4000-0000', label: 'home', id: undefined },
      { number: '190', label: undefined, id: undefined },
    ],
  });
});

test.each<[string, string[], string | null]>([
  ['FN', ['N:Silva;Ana;;;', 'FN:Ana S.'], 'Ana S.'],
  ['N', ['N:Silva;Ana;Maria;Dra.;'], 'Dra. Ana Maria Silva'],
  ['ORG', ['ORG:Loja\\, Lda;Sales'], 'Loja, Lda Sales'],
  ['quoted-printable', ['FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Jos=C3=A9'], 'José'],
  ['quoted-printable in latin1', ['FN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:Jos=E9'], 'José'],
  ['an empty FN', ['FN:', 'N:;;;;'], null],
])('takes the name from %s', (_, lines, name) => {
  expect(parseVcards(card(...lines))).toMatchObject([{ name, phones: [] }]);
});

test('reads every card of a text, and every phone of a card', () => {
  const many = Array.from({ length: 200 }, (_, n) => `TEL:+5511${900_000_000 + n}`);
  const cards = parseVcards([card('FN:A', 'TEL:+1'), card('FN:B', ...many)].join('\n'));
  expect(cards.map(({ name, phones }) => [name, phones.length])).toEqual([
    ['A', 1],
    ['B', 200],
  ]);
});

const MARKS = '\u0316\u0300';

test.each<[string, string]>([
  ['labels', 'item1.TEL:1\nitem2.X-ABLABEL:x\n'.repeat(100_000)],
  ['types', `TEL${';TYPE=a'.repeat(200_000)}:1`],
  ['quotes', `TEL;${'"'.repeat(900_000)}`],
  ['separators', `TEL;${'=;'.repeat(900_000)}`],
  ['brackets', `TEL:${'('.repeat(900_000)}`],
  ['combining marks', `TEL:${MARKS.repeat(50_000)}`],
  ['encoded combining marks', `TEL;QUOTED-PRINTABLE:${'=CC=96=CC=80'.repeat(50_000)}`],
  ['combining marks in many numbers', `TEL:${MARKS.repeat(200)}\n`.repeat(1_000)],
  ['encoded characters', `FN;QUOTED-PRINTABLE:${'=41'.repeat(500_000)}`],
  ['folded lines', `X:${`\n ${'a'.repeat(900)}`.repeat(1_990)}`],
  ['folded lines that end as quoted-printable ones do', `X${`\n ${';'.repeat(900)}=`.repeat(1_990)}`],
  ['lines that continue', `FN;QUOTED-PRINTABLE:=\n${`${'a'.repeat(900)}=\n`.repeat(1_990)}`],
  ['many short lines', 'A=\n'.repeat(500_000)],
  ['many cards', 'BEGIN:VCARD\n'.repeat(150_000)],
  ['many cards of folded lines', `BEGIN:VCARD\nX${'\n ;='.repeat(1_990)}\n`.repeat(220)],
])('reads a card with %s in time', (_, line) => {
  expect(cost(() => parseVcards(card(line)))).toBeLessThan(200);
});
