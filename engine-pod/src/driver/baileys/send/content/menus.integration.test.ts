import type { SentMenu } from '@gwk/core/protocol/engine';
import type { InteractiveContent } from '@gwk/core/resources/content';
import { INTERACTIVE_MODES, type InteractiveMode } from '@gwk/core/states';
import { numberStage, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

/**
 * Menus in every mode and format: the decoded content, the node by which apps show it, and the accepted replies.
 */
let stage: NumberStage;
let group: string;
beforeAll(async () => {
  stage = await numberStage();
  group = await stage.network.group('Friends', [stage.phone, stage.ana]);
});
afterAll(() => stage.close());

const BODY = 'What would you like?';
const buttons: InteractiveContent = {
  body: BODY,
  footer: 'Shop',
  buttons: [
    { type: 'reply', label: 'Yes', id: 'yes' },
    { type: 'url', label: 'Site', url: 'https://shop.example/a?b=1' },
    { type: 'copy', label: 'Coupon', code: 'TEN-OFF' },
  ],
};
const replies: InteractiveContent = {
  body: BODY,
  buttons: [
    { type: 'reply', label: 'Yes', id: 'yes' },
    { type: 'reply', label: 'No', id: 'no' },
    { type: 'call', label: 'Call', phone: '+5511999990000' },
  ],
};
const list: InteractiveContent = {
  body: BODY,
  footer: 'Shop',
  list: {
    button: 'Open',
    sections: [
      { title: 'Food', rows: [{ id: 'f1', title: 'Pizza', description: 'large' }] },
      { title: 'Drinks', rows: [{ id: 'd1', title: 'Tea' }] },
    ],
  },
};
const links: InteractiveContent = {
  body: BODY,
  footer: 'Shop',
  buttons: [{ type: 'url', label: 'Site', url: 'https://shop.example' }],
};

const NUMBERED = {
  buttons: `${BODY}\n\n1. Yes`,
  replies: `${BODY}\n\n1. Yes\n2. No`,
  list: `${BODY}\n\n*Food*\n1. Pizza: large\n*Drinks*\n2. Tea`,
};
const WRITTEN = 'Site: https://shop.example/a?b=1\nCoupon: TEN-OFF';

const flowOf = (text: string, flowButtons: [string, object][], footer?: string) => ({
  interactiveMessage: {
    body: { text },
    ...(footer && { footer: { text: footer } }),
    nativeFlowMessage: {
      buttons: flowButtons.map(([name, params]) => ({ name, buttonParamsJson: JSON.stringify(params) })),
      messageParamsJson: '',
      messageVersion: 1,
    },
  },
});
const FLOW_BUTTONS: [string, object][] = [
  ['quick_reply', { display_text: 'Yes', id: 'yes' }],
  [
    'cta_url',
    {
      display_text: 'Site',
      url: 'https://shop.example/a?b=1',
      merchant_url: 'https://shop.example/a?b=1',
    },
  ],
  ['cta_copy', { display_text: 'Coupon', copy_code: 'TEN-OFF' }],
];
const FLOW_REPLIES: [string, object][] = [
  ['quick_reply', { display_text: 'Yes', id: 'yes' }],
  ['quick_reply', { display_text: 'No', id: 'no' }],
  ['cta_call', { display_text: 'Call', phone_number: '+5511999990000' }],
];
const FLOW_LIST: [string, object][] = [
  [
    'single_select',
    {
      title: 'Open',
      sections: [
        { title: 'Food', rows: [{ id: 'f1', title: 'Pizza', description: 'large' }] },
        { title: 'Drinks', rows: [{ id: 'd1', title: 'Tea', description: '' }] },
      ],
    },
  ],
];
const olderButtons = (contentText: string, ids: [string, string][], footerText?: string) => ({
  buttonsMessage: {
    contentText,
    ...(footerText && { footerText }),
    headerType: 'EMPTY',
    buttons: ids.map(([buttonId, displayText]) => ({
      buttonId,
      buttonText: { displayText },
      type: 'RESPONSE',
    })),
  },
});
const olderList = (description: string) => ({
  listMessage: {
    description,
    buttonText: 'Open',
    footerText: 'Shop',
    listType: 'SINGLE_SELECT',
    sections: [
      { title: 'Food', rows: [{ rowId: 'f1', title: 'Pizza', description: 'large' }] },
      { title: 'Drinks', rows: [{ rowId: 'd1', title: 'Tea', description: '' }] },
    ],
  },
});
const text = (said: string) => ({ extendedTextMessage: { text: said } });

interface Row {
  what: string;
  content: InteractiveContent;
  rendered: string;
  arrives: Record<InteractiveMode, Record<string, unknown>>;
}

const ROWS: Row[] = [
  {
    what: 'buttons',
    content: buttons,
    rendered: 'native_flow_buttons',
    arrives: {
      native: flowOf(BODY, FLOW_BUTTONS, 'Shop'),
      'native+text': flowOf(NUMBERED.buttons, FLOW_BUTTONS, 'Shop'),
      text: text(`${NUMBERED.buttons}\n${WRITTEN}\n\nShop`),
    },
  },
  {
    what: 'replies and a call, without a footer',
    content: { ...replies, format: 'native_flow' },
    rendered: 'native_flow_buttons',
    arrives: {
      native: flowOf(BODY, FLOW_REPLIES),
      'native+text': flowOf(NUMBERED.replies, FLOW_REPLIES),
      text: text(`${NUMBERED.replies}\nCall: +5511999990000`),
    },
  },
  {
    what: 'a list',
    content: list,
    rendered: 'native_flow_list',
    arrives: {
      native: flowOf(BODY, FLOW_LIST, 'Shop'),
      'native+text': flowOf(NUMBERED.list, FLOW_LIST, 'Shop'),
      text: text(`${NUMBERED.list}\n\nShop`),
    },
  },
  {
    what: 'older buttons',
    content: { ...buttons, format: 'legacy' },
    rendered: 'legacy_buttons',
    arrives: {
      native: olderButtons(`${BODY}\n\n${WRITTEN}`, [['yes', 'Yes']], 'Shop'),
      'native+text': olderButtons(`${NUMBERED.buttons}\n\n${WRITTEN}`, [['yes', 'Yes']], 'Shop'),
      text: text(`${NUMBERED.buttons}\n${WRITTEN}\n\nShop`),
    },
  },
  {
    what: 'an older list',
    content: { ...list, format: 'legacy' },
    rendered: 'legacy_list',
    arrives: {
      native: olderList(BODY),
      'native+text': olderList(NUMBERED.list),
      text: text(`${NUMBERED.list}\n\nShop`),
    },
  },
  {
    what: 'older buttons, of which none can answer',
    content: { ...links, format: 'legacy' },
    rendered: 'text_menu',
    arrives: {
      native: text(`${BODY}\n\nSite: https://shop.example\n\nShop`),
      'native+text': text(`${BODY}\n\nSite: https://shop.example\n\nShop`),
      text: text(`${BODY}\n\nSite: https://shop.example\n\nShop`),
    },
  },
];

const EXPECTED_MENU: Record<string, SentMenu['options']> = {
  'replies and a call, without a footer': [
    { id: 'yes', label: 'Yes', number: 1 },
    { id: 'no', label: 'No', number: 2 },
  ],
  'a list': [
    { id: 'f1', label: 'Pizza', number: 1 },
    { id: 'd1', label: 'Tea', number: 2 },
  ],
};

/** Without it the network accepts the message, but no app shows it. */
const NODES: Record<string, string[]> = {
  native_flow_buttons: ['interactive', 'native_flow', 'quality_control'],
  native_flow_list: ['interactive', 'native_flow', 'quality_control'],
  legacy_buttons: ['interactive', 'native_flow'],
  legacy_list: ['list'],
};

interface Case extends Row {
  mode: InteractiveMode;
  whose: 'the instance' | 'the message';
  where: 'a contact' | 'a group';
}

const inMode = (row: Row, mode: InteractiveMode): Case => ({
  ...row,
  mode,
  whose: 'the instance',
  where: 'a contact',
});
const CASES: Case[] = [
  ...ROWS.flatMap((row) => INTERACTIVE_MODES.map((mode) => inMode(row, mode))),
  ...INTERACTIVE_MODES.map((mode): Case => ({ ...inMode(ROWS[0]!, mode), whose: 'the message' })),
  ...ROWS.map((row): Case => ({ ...inMode(row, 'native+text'), where: 'a group' })),
];

test.each(CASES)('$what to $where, in the mode "$mode" of $whose', async (given) => {
  const { number, ana, network } = stage;
  const { what, content, mode, whose, where, arrives } = given;
  const isOwn = whose === 'the message';
  const interactive = isOwn ? { ...content, mode } : content;
  const ofInstance = isOwn ? (mode === 'text' ? 'native' : 'text') : mode;
  const to = where === 'a group' ? group : ana.jid;
  const message = number.message(to, { type: 'interactive', interactive }, { interactive_mode: ofInstance });
  const { id, rendered_as, menu } = await number.send(message);
  const rendered = mode === 'text' ? 'text_menu' : given.rendered;
  expect(rendered_as).toBe(rendered);
  expect(menu).toMatchObject({ kind: 'interactive', mode, selectable: null });
  if (EXPECTED_MENU[what]) expect(menu!.options).toEqual(EXPECTED_MENU[what]);
  const { messageContextInfo, ...shown } = (await ana.receives({ id })).message ?? {};
  void messageContextInfo;
  expect(shown).toEqual(arrives[mode]);
  const [sent] = await network.stanzas({ tag: 'message', way: 'in', id });
  const beside = JSON.stringify(sent!.stanza.content);
  expect(beside.includes('"tag":"biz"')).toBe(rendered !== 'text_menu');
  for (const tag of NODES[rendered] ?? []) expect(beside).toContain(`"tag":"${tag}"`);
});

test('the network reports no protocol errors', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});
