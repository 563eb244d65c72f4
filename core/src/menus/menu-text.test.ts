import type { InteractiveContent } from '../resources/content.js';
import type { InteractiveMode } from '../states.js';
import { renderMenu } from './menu-text.js';

const buttons: InteractiveContent = {
  body: 'Pedido 7',
  footer: 'Loja',
  buttons: [
    { type: 'copy', label: 'Copiar', code: 'PIX-123' },
    { type: 'reply', label: 'Pagar', id: 'pay' },
    { type: 'call', label: 'Ligar', phone: '+5511987654321' },
  ],
};
const more: InteractiveContent = {
  body: 'Mais',
  buttons: [
    { type: 'url', label: 'Site', url: 'https://example.org' },
    { type: 'reply', label: 'Sim', id: 'yes' },
    { type: 'reply', label: 'Não', id: 'no' },
  ],
};
const list: InteractiveContent = {
  body: 'Cardápio',
  footer: 'Loja',
  list: {
    button: 'Ver',
    sections: [
      {
        title: 'Doces',
        rows: [
          { id: 'b', title: 'Bolo', description: 'de cenoura' },
          { id: 'p', title: 'Pudim' },
        ],
      },
      { title: '', rows: [{ id: 's', title: 'Suco', description: '' }] },
    ],
  },
};

test.each<[string, InteractiveContent, InteractiveMode, string]>([
  [
    'mode text writes out code and phone, numbers replies, and ends with the footer',
    buttons,
    'text',
    'Pedido 7\n\nCopiar: PIX-123\n1. Pagar\nLigar: +5511987654321\n\nLoja',
  ],
  ['mode text writes out the link', more, 'text', 'Mais\n\nSite: https://example.org\n1. Sim\n2. Não'],
  ['mode native+text adds the numbered replies alone', buttons, 'native+text', 'Pedido 7\n\n1. Pagar'],
  ['mode native leaves the text as it is', buttons, 'native', 'Pedido 7'],
  [
    'rows are numbered over all sections',
    list,
    'text',
    'Cardápio\n\n*Doces*\n1. Bolo: de cenoura\n2. Pudim\n3. Suco\n\nLoja',
  ],
  [
    'a list in mode native+text',
    list,
    'native+text',
    'Cardápio\n\n*Doces*\n1. Bolo: de cenoura\n2. Pudim\n3. Suco',
  ],
  ['a list in mode native', list, 'native', 'Cardápio'],
  [
    'nothing to number adds nothing',
    { body: 'Só link', buttons: [{ type: 'url', label: 'Site', url: 'https://example.org' }] },
    'native+text',
    'Só link',
  ],
])('%s', (_, content, mode, expected) => {
  expect(renderMenu(content, mode).text).toBe(expected);
});

test('the options are what can be answered with: replies and rows, numbered as they are written', () => {
  expect(renderMenu(more, 'text').options).toEqual([
    { id: 'yes', label: 'Sim', number: 1 },
    { id: 'no', label: 'Não', number: 2 },
  ]);
  expect(renderMenu(buttons, 'native').options).toEqual([{ id: 'pay', label: 'Pagar', number: 1 }]);
  expect(renderMenu(list, 'native').options.map(({ id, number }) => [id, number])).toEqual([
    ['b', 1],
    ['p', 2],
    ['s', 3],
  ]);
});

test.each<[InteractiveContent, InteractiveMode, InteractiveContent['format'], string]>([
  [buttons, 'native', null, 'native_flow_buttons'],
  [buttons, 'native+text', undefined, 'native_flow_buttons'],
  [buttons, 'native', 'native_flow', 'native_flow_buttons'],
  [buttons, 'native+text', 'legacy', 'legacy_buttons'],
  [buttons, 'text', 'legacy', 'text_menu'],
  [list, 'native', null, 'native_flow_list'],
  [list, 'native', 'legacy', 'legacy_list'],
  [list, 'text', null, 'text_menu'],
])('%# leaves as the mode and the format say', (content, mode, format, expected) => {
  expect(renderMenu({ ...content, format }, mode).rendered_as).toBe(expected);
});
