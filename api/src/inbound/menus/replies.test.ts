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
    ['a number and a bracket', '2)', 'menu-1:no'],
    ['a number in brackets', '(2)', 'menu-1:no'],
    ['a number in square brackets', '[ 2 ]', 'menu-1:no'],
    ['a number sign', '#2', 'menu-1:no'],
    ['a number and a dash', '2-', 'menu-1:no'],
    ['a number and a long dash', '2 –', 'menu-1:no'],
    ['a number in bold', '*2*', 'menu-1:no'],
    ['a quoted number', '“2”', 'menu-1:no'],
    ['an exclamation', '2!', 'menu-1:no'],
    ['an ordinal', '2ª', 'menu-1:no'],
    ['an ordinal with a full stop', '2.º', 'menu-1:no'],
    ['a key cap', '2️⃣', 'menu-1:no'],
    ['a circled digit', '②', 'menu-1:no'],
    ['a full-width digit', '２', 'menu-1:no'],
    ['a leading zero', '02', 'menu-1:no'],
    ['a number with format characters', '\u200e\u20662\u2069', 'menu-1:no'],
    ['a name with format characters', '\u200eS\u200bi\u00adm\ufeff', 'menu-1:yes'],
    ['a name with them and an exclamation mark', '\u2068ver o\u2060 si\u200cte!', 'menu-1:site'],
    ['a number and a thumb', '2 👍', 'menu-1:no'],
    ['opção without a space', 'opção2', 'menu-1:no'],
    ['opção and a number sign', 'Opção #2', 'menu-1:no'],
    ['opção nº', 'opção nº 2', 'menu-1:no'],
    ['option and a colon', 'option: 2.', 'menu-1:no'],
    ['número', 'Número 2', 'menu-1:no'],
    ['nº', 'nº 2', 'menu-1:no'],
    ['a decomposed accent', 'opc\u0327a\u0303o 2', 'menu-1:no'],
    ['agreement with somebody else', '+1', null],
    ['a negative number', '-1', null],
    ['a percentage', '2%', null],
    ['an amount', '$2', null],
    ['a decimal', '2,5', null],
    ['a number with a question mark', '2?', null],
    ['two numbers', '1 2', null],
    ['a time', '2:00', null],
    ['a name with a full stop', 'Não.', 'menu-1:no'],
    ['a name with exclamation marks', 'sim!!', 'menu-1:yes'],
    ['a name in bold', '*Sim*', 'menu-1:yes'],
    ['a name and a thumb', 'Sim 👍🏽', 'menu-1:yes'],
    ['a thumb alone', '👍', null],
    ['punctuation alone', '...', null],
  ])('%s', (_, text, expected) => {
    expect(choice(text)).toBe(expected);
  });
});

describe('labels', () => {
  const labelled = (...labels: string[]) =>
    menu({ options: labels.map((label, index) => ({ id: `o${index + 1}`, label, number: index + 1 })) });

  test.each<[string, string[], string, string | null]>([
    ['an emoji before the label need not be typed', ['✅ Confirmar', '❌ Cancelar'], 'confirmar', 'o1'],
    ['an emoji inside the label need not be typed', ['Sim 👍 quero', 'Não'], 'sim quero', 'o1'],
    ['a family and a flag need not be typed', ['👨‍👩‍👧‍👦 Família', '🇧🇷 Brasil'], 'brasil', 'o2'],
    [
      'a full stop in the label need not be typed',
      ['Falar com atendente.', 'Sair'],
      'falar com atendente',
      'o1',
    ],
    ['two emoji are different labels', ['👍', '👎'], '👎', 'o2'],
    ['a label typed in full precedes a similar one', ['C', 'C++'], 'c++', 'o2'],
    ['a label typed in full precedes a longer one', ['C', 'C++'], 'c', 'o1'],
    ['labels that differ by case are ambiguous', ['Sim', 'SIM'], 'sim', null],
    ['labels that differ by their emoji are ambiguous', ['🔴 Camisa', '🔵 Camisa'], 'camisa', null],
    ['labels that differ by their emoji, typed in full', ['🔴 Camisa', '🔵 Camisa'], '🔵 camisa', 'o2'],
    ['titles of two sections are ambiguous', ['Manhã', 'Manhã'], 'manhã', null],
    ['a label that is another option’s number is ambiguous', ['3', '2', '1'], '1', null],
    ['a label that is its own number', ['1', '2'], '2', 'o2'],
    ['a label that is a number beyond the options', ['10', '20'], '20', 'o2'],
  ])('%s', (_, labels, text, id) => {
    expect(choice(text, [labelled(...labels)])).toBe(id && `menu-1:${id}`);
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
