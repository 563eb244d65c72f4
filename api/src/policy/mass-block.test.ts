import { decideMassSend, normaliseText } from './mass-block.js';

test.each([
  ['accepts the 30th contact of 30', { limit: 30, count: 29, alreadyCounted: false }, 'accept'],
  ['refuses the 31st', { limit: 30, count: 30, alreadyCounted: false }, 'refuse'],
  ['accepts a repeat to one of the 30', { limit: 30, count: 30, alreadyCounted: true }, 'accept'],
])('%s', (_, given, expected) => {
  expect(decideMassSend(given)).toBe(expected);
});

describe('normaliseText', () => {
  test.each([
    ['ignores case', 'Oferta de Hoje', 'OFERTA DE HOJE'],
    ['ignores numbers', 'Pedido 123 por R$ 10,50', 'pedido 9 por r$ 7,99'],
    ['ignores spaces', '  a\n\n b\tc ', 'a b c'],
    ['ignores digits of other scripts', 'código ١٢٣', 'código 4'],
    ['removes invisible spaces', 'ofer\u200bta de\u2060 hoje\ufeff', 'oferta de hoje'],
    ['maps full-width letters', 'ＡＢＣ', 'abc'],
  ])('%s', (_, one, other) => {
    expect(normaliseText(one)).toBe(normaliseText(other));
  });

  test.each([
    ['distinguishes words', 'pedido pronto', 'pedido atrasado'],
    ['distinguishes accents', 'avo', 'avó'],
    ['distinguishes positions of spaces', 'a bc', 'ab c'],
  ])('%s', (_, one, other) => {
    expect(normaliseText(one)).not.toBe(normaliseText(other));
  });
});
