import { Problem } from '@gwk/core/problems';
import { readDraft } from './request.js';

const MEDIA_ID = `med_${'a'.repeat(32)}`;
const media = { media_id: MEDIA_ID };
const row = { id: 'r', title: 'Linha' };
const section = { title: 'Seção', rows: [row] };
const button = { type: 'reply', label: 'Sim', id: 'sim' };

/** The smallest valid content of each type. */
const GOOD = {
  text: { body: 'oi' },
  image: { media },
  video: { media },
  document: { media },
  audio: { media },
  sticker: { media },
  location: { latitude: 0, longitude: 0 },
  contact: { name: 'Ana', phones: ['5511987654321'] },
  interactive: { body: 'Escolha', buttons: [button] },
  poll: {
    name: 'Qual?',
    options: [
      { id: 'a', label: 'A' },
      { id: 'b', label: 'B' },
    ],
  },
} as const;
type Type = keyof typeof GOOD;

const list = (sections: unknown) => ({ buttons: undefined, list: { button: 'Ver', sections } });
const createBody = (type: Type, content: object, more: object = {}) => ({
  instance_id: `ins_${'0'.repeat(32)}`,
  to: '5511987654321',
  type,
  [type]: { ...GOOD[type], ...content },
  ...more,
});

/** Returns `accepted`, or the problem code and the paths. */
function check(body: unknown): string {
  try {
    readDraft(body);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const paths = error.extras.errors?.map(({ path }) => path) ?? [];
    return [error.code, ...new Set(paths)].join(' ');
  }
}

/** The interface counts code points: each of these is one, and two UTF-16 units. */
const chars = (count: number) => '😀'.repeat(count);
const ascii = (count: number) => 'a'.repeat(count);
const url = (length: number) => `https://example.org/${ascii(length - 'https://example.org/'.length)}`;
const many = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, i) => make(i));
const createRow = (change: object) => list([{ ...section, rows: [{ ...row, ...change }] }]);
const options = (count: number) => many(count, (n) => ({ id: `o${n}`, label: `Opção ${n}` }));

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
  ['buttons', 'interactive', 3, (n) => ({ buttons: many(n, () => button) }), 'interactive.buttons'],
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
  ['list sections', 'interactive', 10, (n) => list(many(n, () => section)), 'interactive.list.sections'],
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
    (n) => list([{ ...section, rows: many(n, () => row) }]),
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
    const rows = many(10, (n) => ({ id: chars(200), title: chars(24), description: `${n}${chars(71)}` }));
    const sections = many(10, () => ({ title: chars(24), rows }));
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
  ['buttons', 'interactive', 1, (n) => ({ buttons: many(n, () => button) }), 'interactive.buttons'],
  [
    'button label',
    'interactive',
    1,
    (n) => ({ buttons: [{ ...button, label: chars(n) }] }),
    'interactive.buttons.0.label',
  ],
  ['list sections', 'interactive', 1, (n) => list(many(n, () => section)), 'interactive.list.sections'],
  [
    'list rows of a section',
    'interactive',
    1,
    (n) => list([{ ...section, rows: many(n, () => row) }]),
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

test('accepts a list section without title', () => {
  expect(check(createBody('interactive', list([{ rows: [row] }])))).toBe('accepted');
});

describe('unknown fields', () => {
  const types = Object.keys(GOOD) as Type[];
  test.each(types.filter((type) => type !== 'text'))('inside `%s` are refused', (type) => {
    expect(check(createBody(type, { nothing: 1 }))).toBe(`validation-error ${type}.nothing`);
  });
  test('inside `text` are ignored', () => {
    expect(check(createBody('text', { nothing: 1 }))).toBe('accepted');
  });
  test.each<[string, Type, object, string]>([
    ['a file', 'image', { media: { ...media, nothing: 1 } }, 'image.media.nothing'],
    ['a button', 'interactive', { buttons: [{ ...button, x: 1 }] }, 'interactive.buttons.0.x'],
    ['a row', 'interactive', createRow({ x: 1 }), 'interactive.list.sections.0.rows.0.x'],
    [
      'a poll option',
      'poll',
      { options: [{ id: 'a', label: 'A', x: 1 }, ...options(1)] },
      'poll.options.0.x',
    ],
  ])('of %s are refused', (_, type, content, path) => {
    expect(check(createBody(type, content))).toBe(`validation-error ${path}`);
  });
  test('of the request are refused', () => {
    expect(check(createBody('text', {}, { nothing: 1 }))).toBe('validation-error nothing');
  });
});

describe('refuses a message', () => {
  const types = Object.keys(GOOD) as Type[];
  test.each(types)('of type %s without its field', (type) => {
    expect(check({ ...createBody(type, {}), [type]: undefined })).toBe('invalid-message');
  });
  test.each(types)('of type %s with the field of another', (type) => {
    const other = type === 'poll' ? 'text' : 'poll';
    expect(check(createBody(type, {}, { [other]: GOOD[other] }))).toBe('invalid-message');
  });
  test.each<[string, Type, object]>([
    ['a file by neither id nor url', 'sticker', { media: {} }],
    ['a file by nulls', 'audio', { media: { media_id: null, url: null } }],
    ['a file by both', 'video', { media: { ...media, url: 'https://example.org/a.mp4' } }],
    ['neither buttons nor list', 'interactive', { buttons: undefined }],
    ['buttons and list', 'interactive', { ...list([section]), buttons: [button] }],
    ['a reply button without id', 'interactive', { buttons: [{ type: 'reply', label: 'x' }] }],
    ['a url button without url', 'interactive', { buttons: [{ type: 'url', label: 'x' }] }],
    ['a call button without phone', 'interactive', { buttons: [{ type: 'call', label: 'x', id: 'x' }] }],
    ['a copy button without code', 'interactive', { buttons: [{ type: 'copy', label: 'x', code: null }] }],
  ])('%s', (_, type, content) => {
    expect(check(createBody(type, content))).toBe('invalid-message');
  });
});

test.each<[string, Type, object, string]>([
  ['a malformed media id', 'image', { media: { media_id: 'med_1' } }, 'image.media.media_id'],
  ['a malformed media url', 'image', { media: { url: 'example' } }, 'image.media.url'],
  [
    'a media url with an unsupported scheme',
    'image',
    { media: { url: 'file:///etc/passwd' } },
    'image.media.url',
  ],
  [
    'a malformed button url',
    'interactive',
    { buttons: [{ type: 'url', label: 'x', url: 'x' }] },
    'interactive.buttons.0.url',
  ],
  ['an unknown mode', 'interactive', { mode: 'loud' }, 'interactive.mode'],
  ['an unknown format', 'interactive', { format: 'new' }, 'interactive.format'],
  ['a contact phone with spaces', 'contact', { phones: ['55 11 98765'] }, 'contact.phones.0'],
  ['duplicate poll labels', 'poll', { options: [options(1)[0], options(1)[0]] }, 'poll.options'],
  ['text that is no string', 'text', { body: 1 }, 'text.body'],
  ['NUL', 'text', { body: 'a\u0000' }, 'text.body'],
  ['half a surrogate pair', 'text', { body: '\ud800' }, 'text.body'],
])('refuses with the path of the field: %s', (_, type, content, path) => {
  expect(check(createBody(type, content))).toBe(`validation-error ${path}`);
});

describe('checks the common field:', () => {
  test.each<[string, object, string]>([
    ['a malformed phone', { to: 'x'.repeat(500) }, 'invalid-phone'],
    ['a phone of seven digits', { to: '1234567' }, 'invalid-phone'],
    ['a phone of eight digits', { to: '12345678' }, 'accepted'],
    ['a phone of fifteen digits', { to: '1'.repeat(15) }, 'accepted'],
    ['a phone of sixteen digits', { to: '1'.repeat(16) }, 'invalid-phone'],
    ['no phone', { to: undefined }, 'validation-error to'],
    ['an unknown type', { type: 'song' }, 'validation-error type'],
    ['an instance id of any length', { instance_id: 'x'.repeat(500) }, 'accepted'],
    ['a malformed quote id', { reply_to: 'msg_1' }, 'invalid-reply-to'],
    ['a quote of null', { reply_to: null }, 'accepted'],
    ['a mention of a group', { mentions: ['123456-789@g.us'] }, 'validation-error mentions.0'],
  ])('%s', (_, more, expected) => {
    expect(check(createBody('text', {}, more))).toBe(expected);
  });

  test('adds quote and mentions to the content, mentions as network ids', () => {
    const given = { reply_to: `msg_${'1'.repeat(32)}`, mentions: ['551188887777', '12345@lid'] };
    const { content, replyTo } = readDraft(createBody('sticker', {}, given));
    expect(replyTo).toBe('11111111-1111-1111-1111-111111111111');
    expect(content).toEqual({
      type: 'sticker',
      sticker: { media },
      reply_to: replyTo,
      mentions: ['5511988887777@s.whatsapp.net', '12345@lid'],
    });
  });
});

test.each<[Type, object, string | null]>([
  ['text', { body: 'Olá' }, 'Olá'],
  ['image', { caption: 'Foto' }, 'Foto'],
  ['video', { caption: 'Vídeo' }, 'Vídeo'],
  ['document', { caption: 'Nota' }, 'Nota'],
  ['document', { caption: null }, null],
  ['image', {}, null],
  ['audio', {}, null],
  ['sticker', {}, null],
  ['location', { name: 'Praça' }, null],
  ['contact', {}, null],
  ['interactive', { body: 'Menu' }, 'Menu'],
  ['poll', { name: 'Qual?' }, 'Qual?'],
])('the mass-send block counts %s %j by %s', (type, content, text) => {
  expect(readDraft(createBody(type, content)).text).toBe(text);
});

test('looks up media by id, and marks only media messages for preparation', () => {
  const draft = readDraft(createBody('image', {}));
  expect([draft.mediaId, draft.prepared]).toEqual(['aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa', false]);
  const fetched = readDraft(createBody('audio', { media: { url: 'https://example.org/a' } }));
  expect([fetched.mediaId, fetched.prepared]).toEqual([null, false]);
  const ready = (['text', 'location', 'contact', 'interactive', 'poll'] as const).map(
    (type) => readDraft(createBody(type, {})).prepared,
  );
  expect(ready).toEqual([true, true, true, true, true]);
});
