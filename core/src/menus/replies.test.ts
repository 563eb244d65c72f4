import { recogniseReply, type OpenMenu } from './replies.js';

const SENT = new Date('2026-03-02T12:00:00Z');
const later = (hours: number) => new Date(SENT.getTime() + hours * 3_600_000);

const menu = (given: Partial<OpenMenu> = {}): OpenMenu => ({
  messageId: 'menu-1',
  waMessageId: 'WA1',
  kind: 'interactive',
  mode: 'native+text',
  options: [
    { id: 'yes', label: 'Sim', number: 1 },
    { id: 'no', label: 'Não', number: 2 },
    { id: 'site', label: 'Ver o site', number: null },
  ],
  sentAt: SENT,
  answeredAt: null,
  ...given,
});

const choice = (
  text: string,
  menus: OpenMenu[] = [menu()],
  { quoted = null, at = later(1), ttl = 24 }: { quoted?: string | null; at?: Date; ttl?: number } = {},
) => {
  const found = recogniseReply({ text, quotedWaMessageId: quoted, at }, menus, ttl);
  return found && `${found.menu.messageId}:${found.option.id}`;
};

describe('typed replies', () => {
  test.each<[string, string, string | null]>([
    ['a number', '2', 'menu-1:no'],
    ['a number with a full stop', '2.', 'menu-1:no'],
    ['option and a number', 'option 2', 'menu-1:no'],
    ['opção and a number', 'opção 2', 'menu-1:no'],
    ['in capitals, without the accent', 'OPCAO 2.', 'menu-1:no'],
    ['spaces around it', '  2 ', 'menu-1:no'],
    ['the name', 'Não', 'menu-1:no'],
    ['the name without accent and case', 'nao', 'menu-1:no'],
    ['the name of an option without a number', 'ver o SITE', 'menu-1:site'],
    ['a number that no option has', '3', null],
    ['zero', '0', null],
    ['a number among words', 'quero 2', null],
    ['a part of a name', 'ver', null],
    ['a sentence that contains a name', 'não sei', null],
    ['only spaces', '   ', null],
    ['a number with too many digits', '0000002', null],
  ])('%s', (_, text, expected) => {
    expect(choice(text)).toBe(expected);
  });
});

describe('the menu of a reply', () => {
  const older = menu({ messageId: 'menu-0', waMessageId: 'WA0' });

  test('is the most recent one', () => {
    expect(choice('1', [menu(), older])).toBe('menu-1:yes');
  });
  test('is not an older one if the most recent lacks the option', () => {
    const other = menu({ options: [{ id: 'x', label: 'Outro', number: 1 }] });
    expect(choice('não', [other, older])).toBeNull();
  });
  test('is the quoted one', () => {
    expect(choice('1', [menu(), older], { quoted: 'WA0' })).toBe('menu-0:yes');
  });
  test('is the most recent one if another message is quoted', () => {
    expect(choice('1', [menu(), older], { quoted: 'WA9' })).toBe('menu-1:yes');
  });
  test('is none without menus', () => {
    expect(choice('1', [])).toBeNull();
  });
  test('is not an answered one', () => {
    expect(choice('2', [menu({ answeredAt: later(0.5) })])).toBeNull();
    expect(choice('não', [menu({ answeredAt: later(0.5) })])).toBeNull();
  });
  test('is not an older one after the most recent was answered', () => {
    expect(choice('2', [menu({ answeredAt: later(0.5) }), older])).toBeNull();
  });
});

describe('the time of a reply', () => {
  test.each<[string, Date, number, boolean]>([
    ['counts at the end of 24 hours', later(24), 24, true],
    ['does not count a moment later', new Date(later(24).getTime() + 1), 24, false],
    ['counts until the limit of the policy', later(100), 168, true],
    ['does not count after the limit of the policy', later(1.001), 1, false],
    ['does not count before the menu was sent', later(-1), 24, false],
    ['tolerates the whole seconds of the network', new Date(SENT.getTime() - 900), 24, true],
  ])('%s', (_, at, ttl, counts) => {
    expect(choice('1', [menu()], { at, ttl })).toBe(counts ? 'menu-1:yes' : null);
    expect(choice('sim', [menu()], { at, ttl })).toBe(counts ? 'menu-1:yes' : null);
  });
});

describe('numbers and modes', () => {
  test('accepts only names in mode native', () => {
    const native = menu({ mode: 'native' });
    expect(choice('2', [native])).toBeNull();
    expect(choice('não', [native])).toBe('menu-1:no');
  });
  test('accepts numbers and names in mode text', () => {
    expect(choice('2', [menu({ mode: 'text' })])).toBe('menu-1:no');
  });
  test('does not apply a number to an older menu if the newest is native', () => {
    expect(
      choice('2', [menu({ mode: 'native' }), menu({ messageId: 'menu-0', waMessageId: 'WA0' })]),
    ).toBeNull();
  });
  test('accepts only names for polls', () => {
    const poll = menu({ kind: 'poll', options: [{ id: 'a', label: 'Azul', number: null }] });
    expect(choice('1', [poll])).toBeNull();
    expect(choice('AZUL', [poll])).toBe('menu-1:a');
  });
});
