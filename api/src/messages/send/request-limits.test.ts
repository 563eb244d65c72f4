import {
  media,
  section,
  button,
  type Type,
  list,
  createBody,
  check,
  chars,
  ascii,
  url,
  many,
  numberedButton,
  numberedRow,
  numberedSection,
  createRow,
  options,
} from '@gwk/test/support/api/send-bodies';

type Limit = [row: string, type: Type, limit: number, content: (size: number) => object, path: string];

/** The documented upper limits of lengths and numbers. */
const LARGEST: Limit[] = [
  ['text body', 'text', 65_536, (n) => ({ body: chars(n) }), 'text.body'],
  ['caption of an image', 'image', 1024, (n) => ({ caption: chars(n) }), 'image.caption'],
  ['caption of a video', 'video', 1024, (n) => ({ caption: chars(n) }), 'video.caption'],
  ['caption of a document', 'document', 1024, (n) => ({ caption: chars(n) }), 'document.caption'],
  ['media url', 'image', 2083, (n) => ({ media: { url: url(n) } }), 'image.media.url'],
  [
    'filename',
    'document',
    255,
    (n) => ({ media: { ...media, filename: chars(n) } }),
    'document.media.filename',
  ],
  ['mimetype', 'image', 120, (n) => ({ media: { ...media, mimetype: ascii(n) } }), 'image.media.mimetype'],
  ['latitude', 'location', 90, (n) => ({ latitude: n }), 'location.latitude'],
  ['latitude to the south', 'location', 90, (n) => ({ latitude: -n }), 'location.latitude'],
  ['longitude', 'location', 180, (n) => ({ longitude: n }), 'location.longitude'],
  ['longitude to the west', 'location', 180, (n) => ({ longitude: -n }), 'location.longitude'],
  ['location name', 'location', 200, (n) => ({ name: chars(n) }), 'location.name'],
  ['location address', 'location', 400, (n) => ({ address: chars(n) }), 'location.address'],
  ['contact name', 'contact', 200, (n) => ({ name: chars(n) }), 'contact.name'],
  ['contact phones', 'contact', 5, (n) => ({ phones: many(n, () => '5511987654321') }), 'contact.phones'],
  ['digits of a contact phone', 'contact', 15, (n) => ({ phones: ['1'.repeat(n)] }), 'contact.phones.0'],
  ['contact organization', 'contact', 200, (n) => ({ organization: chars(n) }), 'contact.organization'],
  ['interactive body', 'interactive', 1024, (n) => ({ body: chars(n) }), 'interactive.body'],
  ['interactive footer', 'interactive', 60, (n) => ({ footer: chars(n) }), 'interactive.footer'],
  ['buttons', 'interactive', 3, (n) => ({ buttons: many(n, numberedButton) }), 'interactive.buttons'],
  [
    'button label',
    'interactive',
    25,
    (n) => ({ buttons: [{ ...button, label: chars(n) }] }),
    'interactive.buttons.0.label',
  ],
  [
    'button id',
    'interactive',
    100,
    (n) => ({ buttons: [{ ...button, id: chars(n) }] }),
    'interactive.buttons.0.id',
  ],
  [
    'button url',
    'interactive',
    2083,
    (n) => ({ buttons: [{ type: 'url', label: 'Abrir', url: url(n) }] }),
    'interactive.buttons.0.url',
  ],
  [
    'digits of a button phone',
    'interactive',
    15,
    (n) => ({ buttons: [{ type: 'call', label: 'Ligar', phone: `+${'1'.repeat(n)}` }] }),
    'interactive.buttons.0.phone',
  ],
  [
    'button code',
    'interactive',
    512,
    (n) => ({ buttons: [{ type: 'copy', label: 'Copiar', code: chars(n) }] }),
    'interactive.buttons.0.code',
  ],
  [
    'list button text',
    'interactive',
    20,
    (n) => ({ ...list([section]), list: { button: chars(n), sections: [section] } }),
    'interactive.list.button',
  ],
  ['list sections', 'interactive', 10, (n) => list(many(n, numberedSection)), 'interactive.list.sections'],
  [
    'list section title',
    'interactive',
    24,
    (n) => list([{ ...section, title: chars(n) }]),
    'interactive.list.sections.0.title',
  ],
  [
    'list rows of a section',
    'interactive',
    10,
    (n) => list([{ ...section, rows: many(n, numberedRow) }]),
    'interactive.list.sections.0.rows',
  ],
  [
    'list row id',
    'interactive',
    200,
    (n) => createRow({ id: chars(n) }),
    'interactive.list.sections.0.rows.0.id',
  ],
  [
    'list row title',
    'interactive',
    24,
    (n) => createRow({ title: chars(n) }),
    'interactive.list.sections.0.rows.0.title',
  ],
  [
    'list row description',
    'interactive',
    72,
    (n) => createRow({ description: chars(n) }),
    'interactive.list.sections.0.rows.0.description',
  ],
  ['poll options', 'poll', 12, (n) => ({ options: options(n) }), 'poll.options'],
  ['selectable of two options', 'poll', 2, (n) => ({ selectable: n }), 'poll.selectable'],
];

describe('accepts the largest value and refuses one more:', () => {
  test.each(LARGEST)('%s', (...row) => {
    const [, type, largest, content, path] = row;
    expect(check(createBody(type, content(largest)))).toBe('accepted');
    expect(check(createBody(type, content(largest + 1)))).toBe(`validation-error ${path}`);
  });

  test('mentions', () => {
    const mentions = (count: number) => ({ mentions: many(count, () => '5511987654321') });
    expect(check(createBody('text', {}, mentions(1024)))).toBe('accepted');
    expect(check(createBody('text', {}, mentions(1025)))).toBe('validation-error mentions');
  });

  test('accepts a list of ten sections with ten rows each', () => {
    const sections = many(10, (i) => ({
      title: chars(24),
      rows: many(10, (n) => ({
        id: `${i}${n}${chars(198)}`,
        title: chars(24),
        description: `${n}${chars(71)}`,
      })),
    }));
    expect(check(createBody('interactive', list(sections)))).toBe('accepted');
  });
});

/** The documented lower limits. */
const SMALLEST: Limit[] = [
  [
    'filename',
    'document',
    1,
    (n) => ({ media: { ...media, filename: chars(n) } }),
    'document.media.filename',
  ],
  ['mimetype', 'image', 1, (n) => ({ media: { ...media, mimetype: ascii(n) } }), 'image.media.mimetype'],
  [
    'button id',
    'interactive',
    1,
    (n) => ({ buttons: [{ ...button, id: chars(n) }] }),
    'interactive.buttons.0.id',
  ],
  [
    'button code',
    'interactive',
    1,
    (n) => ({ buttons: [{ type: 'copy', label: 'Copiar', code: chars(n) }] }),
    'interactive.buttons.0.code',
  ],
  [
    'list button text',
    'interactive',
    1,
    (n) => ({ ...list([section]), list: { button: chars(n), sections: [section] } }),
    'interactive.list.button',
  ],
  ['text body', 'text', 1, (n) => ({ body: chars(n) }), 'text.body'],
  ['contact name', 'contact', 1, (n) => ({ name: chars(n) }), 'contact.name'],
  ['contact phones', 'contact', 1, (n) => ({ phones: many(n, () => '5511987654321') }), 'contact.phones'],
  ['digits of a contact phone', 'contact', 8, (n) => ({ phones: ['1'.repeat(n)] }), 'contact.phones.0'],
  ['interactive body', 'interactive', 1, (n) => ({ body: chars(n) }), 'interactive.body'],
  ['buttons', 'interactive', 1, (n) => ({ buttons: many(n, numberedButton) }), 'interactive.buttons'],
  [
    'button label',
    'interactive',
    1,
    (n) => ({ buttons: [{ ...button, label: chars(n) }] }),
    'interactive.buttons.0.label',
  ],
  ['list sections', 'interactive', 1, (n) => list(many(n, numberedSection)), 'interactive.list.sections'],
  [
    'list rows of a section',
    'interactive',
    1,
    (n) => list([{ ...section, rows: many(n, numberedRow) }]),
    'interactive.list.sections.0.rows',
  ],
  [
    'list row title',
    'interactive',
    1,
    (n) => createRow({ title: chars(n) }),
    'interactive.list.sections.0.rows.0.title',
  ],
  [
    'list row id',
    'interactive',
    1,
    (n) => createRow({ id: chars(n) }),
    'interactive.list.sections.0.rows.0.id',
  ],
  ['poll options', 'poll', 2, (n) => ({ options: options(n) }), 'poll.options'],
  ['selectable', 'poll', 1, (n) => ({ selectable: n }), 'poll.selectable'],
];

test.each(SMALLEST)('accepts the smallest value and refuses one less: %s', (...row) => {
  const [, type, least, content, path] = row;
  expect(check(createBody(type, content(least)))).toBe('accepted');
  expect(check(createBody(type, content(least - 1)))).toBe(`validation-error ${path}`);
});
