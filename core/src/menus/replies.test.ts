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

describe('what counts as a typed answer', () => {
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
    ['nought', '0', null],
    ['a number among words', 'quero 2', null],
    ['a part of a name', 'ver', null],
    ['a sentence that has a name', 'não sei', null],
    ['nothing but spaces', '   ', null],
    ['a number too long to be one', '0000002', null],
  ])('%s', (_, text, expected) => {
    expect(choice(text)).toBe(expected);
  });
});

describe('which menu counts', () => {
  const older = menu({ messageId: 'menu-0', waMessageId: 'WA0' });

  test('the most recent one', () => {
    expect(choice('1', [menu(), older])).toBe('menu-1:yes');
  });
  test('no older one where the most recent has no such option', () => {
    const other = menu({ options: [{ id: 'x', label: 'Outro', number: 1 }] });
    expect(choice('não', [other, older])).toBeNull();
  });
  test('the one that the contact quoted', () => {
    expect(choice('1', [menu(), older], { quoted: 'WA0' })).toBe('menu-0:yes');
  });
  test('the most recent one where something else was quoted', () => {
    expect(choice('1', [menu(), older], { quoted: 'WA9' })).toBe('menu-1:yes');
  });
  test('none where none was sent', () => {
    expect(choice('1', [])).toBeNull();
  });
  test('none that was answered', () => {
    expect(choice('2', [menu({ answeredAt: later(0.5) })])).toBeNull();
    expect(choice('não', [menu({ answeredAt: later(0.5) })])).toBeNull();
  });
  test('no older one after the most recent was answered', () => {
    expect(choice('2', [menu({ answeredAt: later(0.5) }), older])).toBeNull();
  });
});

describe('until when', () => {
  test.each<[string, Date, number, boolean]>([
    ['to the end of its 24 hours', later(24), 24, true],
    ['not a second longer', new Date(later(24).getTime() + 1), 24, false],
    ['as long as the policy says', later(100), 168, true],
    ['and no longer than it says', later(1.001), 1, false],
    ['not before the menu left', later(-1), 24, false],
    ['although the network tells whole seconds', new Date(SENT.getTime() - 900), 24, true],
  ])('%s', (_, at, ttl, counts) => {
    expect(choice('1', [menu()], { at, ttl })).toBe(counts ? 'menu-1:yes' : null);
    expect(choice('sim', [menu()], { at, ttl })).toBe(counts ? 'menu-1:yes' : null);
  });
});

describe('numbers and modes', () => {
  test('in mode native a number is an ordinary message, a name counts', () => {
    const native = menu({ mode: 'native' });
    expect(choice('2', [native])).toBeNull();
    expect(choice('não', [native])).toBe('menu-1:no');
  });
  test('in mode text both count', () => {
    expect(choice('2', [menu({ mode: 'text' })])).toBe('menu-1:no');
  });
  test('a number counts for no older menu when the newest is native', () => {
    expect(
      choice('2', [menu({ mode: 'native' }), menu({ messageId: 'menu-0', waMessageId: 'WA0' })]),
    ).toBeNull();
  });
  test('polls are answered by name only', () => {
    const poll = menu({ kind: 'poll', options: [{ id: 'a', label: 'Azul', number: null }] });
    expect(choice('1', [poll])).toBeNull();
    expect(choice('AZUL', [poll])).toBe('menu-1:a');
  });
});
