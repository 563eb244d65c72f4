import { decideMassSend, normaliseText } from './mass-block.js';

test.each([
  ['the thirtieth of thirty passes', { limit: 30, count: 29, alreadyCounted: false }, 'accept'],
  ['the thirty-first is refused', { limit: 30, count: 30, alreadyCounted: false }, 'refuse'],
  ['one of the thirty may be sent it again', { limit: 30, count: 30, alreadyCounted: true }, 'accept'],
])('%s', (_, given, expected) => {
  expect(decideMassSend(given)).toBe(expected);
});

describe('the same text', () => {
  test.each([
    ['case does not count', 'Oferta de Hoje', 'OFERTA DE HOJE'],
    ['numbers do not count', 'Pedido 123 por R$ 10,50', 'pedido 9 por r$ 7,99'],
    ['spaces do not count', '  a\n\n b\tc ', 'a b c'],
    ['digits of other scripts are digits', 'código ١٢٣', 'código 4'],
    ['spaces that nobody sees are none', 'ofer\u200bta de\u2060 hoje\ufeff', 'oferta de hoje'],
    ['full-width letters are letters', 'ＡＢＣ', 'abc'],
  ])('%s', (_, one, other) => {
    expect(normaliseText(one)).toBe(normaliseText(other));
  });

  test.each([
    ['words count', 'pedido pronto', 'pedido atrasado'],
    ['accents count', 'avo', 'avó'],
    ['where a space stands counts', 'a bc', 'ab c'],
  ])('%s', (_, one, other) => {
    expect(normaliseText(one)).not.toBe(normaliseText(other));
  });
});
