import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { refreshLink } from './prepare.js';

const uuid = newUuid();
const id = toPublicId('media', uuid);
const link = (mediaId: string) => `https://media.example.org/${mediaId}`;

test.each<[string, object]>([
  ['a text', { text: 'hello' }],
  ['a text that looks like a file', { text: `{"media_id":"${id}"}` }],
  ['a file that could not be downloaded', { media: { error: 'not found', mimetype: 'image/png' } }],
  ['an invalid id', { media: { media_id: 'med_1' } }],
  ['an id in another field', { quoted: { media_id: id } }],
  ['null media', { media: null, text: `"media_id":"med_` }],
])('leaves %s unchanged', (_, data) => {
  const text = JSON.stringify(data);
  expect(refreshLink(text, link)).toBe(text);
});

test('replaces the link of a file and keeps the order of the fields', () => {
  const data = { b: 1, media: { media_id: id, size: 3, url: 'https://old' }, a: 'é' };
  expect(refreshLink(JSON.stringify(data), link)).toBe(
    JSON.stringify({ b: 1, media: { media_id: id, size: 3, url: link(uuid) }, a: 'é' }),
  );
});
