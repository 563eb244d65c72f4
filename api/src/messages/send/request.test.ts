import {
  media,
  row,
  section,
  button,
  GOOD,
  type Type,
  list,
  createBody,
  check,
  createRow,
  options,
} from '@gwk/test/support/api/send-bodies';
import { readDraft } from './request.js';

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
  [
    'duplicate poll labels',
    'poll',
    { options: options(2).map((option) => ({ ...option, label: 'Sim' })) },
    'poll.options.1.label',
  ],
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
    ['a mention of all in a group', { to: '123456-789@g.us', mentions: ['all'] }, 'accepted'],
    [
      'a mention of all in a direct chat',
      { mentions: ['551188887777', 'all'] },
      'validation-error mentions.1',
    ],
    ['a mention of a group', { mentions: ['123456-789@g.us'] }, 'validation-error mentions.0'],
  ])('%s', (_, more, expected) => {
    expect(check(createBody('text', {}, more))).toBe(expected);
  });

  test.each<[string, RegExp]>([
    ['120363000000000000@newsletter', /Channels/],
    ['status@broadcast', /Status posts/],
    ['1700000000@broadcast', /Broadcast lists/],
    ['867051314767696@bot', /network id/],
    ['@ana.souza', /username/],
    ['ana_souza1', /username/],
    ['1234567', /^invalid-phone: Invalid phone number$/],
    ['x'.repeat(500), /^invalid-phone: Invalid phone number$/],
  ])('names what is wrong with %s', (to, words) => {
    expect(() => readDraft(createBody('text', {}, { to }))).toThrow(words);
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

describe('an album', () => {
  const image = { image: { media } };
  const video = { video: { media } };
  const album = (files: object[], more: object = {}) => ({
    ...createBody('text', {}),
    ...{ text: undefined, type: 'album', album: files, ...more },
  });

  test.each<[string, object[], string]>([
    ['with two files', [image, video], 'accepted'],
    ['with 30 files', Array<object>(30).fill(image), 'accepted'],
    ['with 31 files', Array<object>(31).fill(image), 'validation-error album'],
    ['with one file', [image], 'validation-error album'],
    ['with an empty item', [image, {}], 'validation-error album.1'],
    ['with two files in one item', [image, { ...image, ...video }], 'validation-error album.1'],
    ['with a document', [image, { document: { media } }], 'validation-error album.1.document album.1'],
    ['with a picture in HD', [image, { image: { media, hd: true } }], 'validation-error album.1.image.hd'],
    [
      'with a round video',
      [image, { video: { media, round: true } }],
      'validation-error album.1.video.round',
    ],
    ['with a file by neither id nor url', [image, { image: { media: {} } }], 'invalid-message'],
  ])('%s', (_, files, expected) => {
    expect(check(album(files))).toBe(expected);
  });

  test('without its field, or with that of another type', () => {
    expect(check(album([image, video], { album: undefined }))).toBe('invalid-message');
    expect(check(album([image, video], { image: { media } }))).toBe('invalid-message');
  });
});

test('a round video has no caption', () => {
  expect(check(createBody('video', { round: true }))).toBe('accepted');
  expect(check(createBody('video', { round: true, caption: 'A' }))).toBe('validation-error video.caption');
  expect(check(createBody('video', { round: false, caption: 'A' }))).toBe('accepted');
});
