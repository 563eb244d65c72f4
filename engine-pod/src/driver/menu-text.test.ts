import type { InteractiveContent } from '@gwk/core/resources/content';
import type { InteractiveMode } from '@gwk/core/states';
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
    'writes out codes and phone numbers, numbers replies, and adds the footer in mode text',
    buttons,
    'text',
    'Pedido 7\n\nCopiar: PIX-123\n1. Pagar\nLigar: +5511987654321\n\nLoja',
  ],
  ['writes out links in mode text', more, 'text', 'Mais\n\nSite: https://example.org\n1. Sim\n2. Não'],
  ['adds only numbered replies in mode native+text', buttons, 'native+text', 'Pedido 7\n\n1. Pagar'],
  ['keeps the body in mode native', buttons, 'native', 'Pedido 7'],
  [
    'numbers rows across sections',
    list,
    'text',
    'Cardápio\n\n*Doces*\n1. Bolo: de cenoura\n2. Pudim\n3. Suco\n\nLoja',
  ],
  [
    'adds numbered rows in mode native+text',
    list,
    'native+text',
    'Cardápio\n\n*Doces*\n1. Bolo: de cenoura\n2. Pudim\n3. Suco',
  ],
  ['keeps the body of a list in mode native', list, 'native', 'Cardápio'],
  [
    'adds nothing without replies',
    { body: 'Só link', buttons: [{ type: 'url', label: 'Site', url: 'https://example.org' }] },
    'native+text',
    'Só link',
  ],
])('%s', (_, content, mode, expected) => {
  expect(renderMenu(content, mode).text).toBe(expected);
});

test('returns replies and rows as numbered options', () => {
  expect(renderMenu(more, 'text').menu.options).toEqual([
    { id: 'yes', label: 'Sim', number: 1 },
    { id: 'no', label: 'Não', number: 2 },
  ]);
  expect(renderMenu(buttons, 'native').menu.options).toEqual([{ id: 'pay', label: 'Pagar', number: 1 }]);
  expect(renderMenu(list, 'native').menu.options.map(({ id, number }) => [id, number])).toEqual([
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
])('%# chooses the rendering by mode and format', (content, mode, format, expected) => {
  expect(renderMenu({ ...content, format }, mode).rendered_as).toBe(expected);
});
