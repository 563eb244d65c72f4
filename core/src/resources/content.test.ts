import { InteractiveContent, PollContent, TextContent } from './content.js';

const FAMILY = '👨‍👩‍👧‍👦';

const buttons = (...given: object[]) => ({
  body: 'Confirma?',
  buttons: given.map((button, index) => ({
    type: 'reply',
    id: `b${index}`,
    label: `Opção ${index}`,
    ...button,
  })),
});
const list = (...sections: object[][]) => ({
  body: 'Escolha',
  list: {
    button: 'Ver',
    sections: sections.map((rows, section) => ({
      title: `Seção ${section}`,
      rows: rows.map((row, index) => ({ id: `r${section}.${index}`, title: `Linha ${index}`, ...row })),
    })),
  },
});
const poll = (...given: object[]) => ({
  name: 'Quando?',
  options: given.map((option, index) => ({ id: `p${index}`, label: `Dia ${index}`, ...option })),
});

const refusedPaths = (schema: { safeParse: typeof PollContent.safeParse }, content: unknown): string[] =>
  (schema.safeParse(content).error?.issues ?? []).map((issue) => issue.path.join('.'));

describe('an interactive message refuses by path', () => {
  test.each<[string, object, string[]]>([
    ['equal ids of buttons', buttons({ id: 'a' }, { id: 'a' }), ['buttons.1.id']],
    ['equal labels of buttons', buttons({ label: 'Sim' }, {}, { label: 'Sim' }), ['buttons.2.label']],
    [
      'labels that differ by spaces',
      buttons({ label: 'Ver  mais' }, { label: ' Ver mais ' }),
      ['buttons.1.label'],
    ],
    [
      'labels that differ by composition',
      buttons({ label: 'N\u00e3o' }, { label: 'Na\u0303o' }),
      ['buttons.1.label'],
    ],
    [
      'labels that differ by a zero-width space',
      buttons({ label: 'Sim' }, { label: 'Sim\u200b' }),
      ['buttons.1.label'],
    ],
    [
      'a link with the label of a reply',
      buttons({ label: 'Ver' }, { type: 'url', label: 'Ver', url: 'https://example.com' }),
      ['buttons.1.label'],
    ],
    ['a blank label', buttons({ label: ' \u00a0\u200b' }), ['buttons.0.label']],
    ['a label of Braille blanks', buttons({ label: '\u2800' }), ['buttons.0.label']],
    ['a blank body', { ...buttons({}), body: ' \n ' }, ['body']],
    ['another protocol than http', buttons({ type: 'url', url: 'ftp://example.com' }), ['buttons.0.url']],
    ['a script', buttons({ type: 'url', url: 'javascript:alert(1)' }), ['buttons.0.url']],
    ['a label of 26 graphemes', buttons({ label: FAMILY.repeat(26) }), ['buttons.0.label']],
    ['a grapheme without an end', buttons({ label: `a${'\u0301'.repeat(400)}` }), ['buttons.0.label']],
    ['equal ids of rows', list([{ id: 'x' }, { id: 'x' }]), ['list.sections.0.rows.1.id']],
    [
      'equal ids of rows in two sections',
      list([{ id: 'x' }], [{}, { id: 'x' }]),
      ['list.sections.1.rows.1.id'],
    ],
    [
      'equal rows of a section',
      list([{ title: 'Manhã' }, { title: 'Manhã' }]),
      ['list.sections.0.rows.1.title'],
    ],
    ['a blank title of a row', list([{ title: '\u3164' }]), ['list.sections.0.rows.0.title']],
    ['a blank button of a list', { body: 'a', list: { ...list([{}]).list, button: ' ' } }, ['list.button']],
  ])('%s', (_, content, paths) => {
    expect(refusedPaths(InteractiveContent as never, content)).toEqual(paths);
  });
});

describe('an interactive message accepts', () => {
  test.each<[string, object]>([
    ['25 family emoji as a label', buttons({ label: FAMILY.repeat(25) })],
    ['24 flags as the title of a row', list([{ title: '🇧🇷'.repeat(24) }])],
    ['labels that differ by case', buttons({ label: 'sim' }, { label: 'SIM' })],
    ['labels that differ by an emoji', buttons({ label: '🔴 Camisa' }, { label: '🔵 Camisa' })],
    ['equal titles in different sections', list([{ title: '9h' }], [{ title: '9h' }])],
    [
      'equal titles with different descriptions',
      list([
        { title: 'Camisa', description: 'P' },
        { title: 'Camisa', description: 'M' },
      ]),
    ],
    [
      'buttons without ids',
      buttons({ type: 'call', id: null, phone: '5511999990000' }, { type: 'copy', id: null, code: '1' }),
    ],
  ])('%s', (_, content) => {
    expect(refusedPaths(InteractiveContent as never, content)).toEqual([]);
  });
});

describe('a poll refuses by path', () => {
  test.each<[string, object, string[]]>([
    ['equal ids', poll({ id: 'a' }, { id: 'a' }), ['options.1.id']],
    ['equal labels', poll({ label: 'Sim' }, { label: 'Sim ' }), ['options.1.label']],
    ['a blank label', poll({ label: '\u200d' }, {}), ['options.0.label']],
    ['a blank question', { ...poll({}, {}), name: '\t' }, ['name']],
    ['more choices than options', { ...poll({}, {}), selectable: 3 }, ['selectable']],
  ])('%s', (_, content, paths) => {
    expect(refusedPaths(PollContent, content)).toEqual(paths);
  });
});

test.each([[' '], ['\n\u00a0'], ['\u200b\u2060'], ['\u3164']])('a text refuses the blank body %j', (body) => {
  expect(refusedPaths(TextContent as never, { body })).toEqual(['body']);
});
