import { newUuid, toPublicId } from '@gwk/core/ids';
import { withFreshLink } from './fresh-links.js';

const uuid = newUuid();
const id = toPublicId('media', uuid);
const link = (mediaId: string) => `https://media.example.org/${mediaId}`;

test.each<[string, object]>([
  ['a text', { text: 'hello' }],
  ['a text that speaks of files', { text: `{"media_id":"${id}"}` }],
  ['a file that could not be downloaded', { media: { error: 'not found', mimetype: 'image/png' } }],
  ['an id that is none', { media: { media_id: 'med_1' } }],
  ['an id elsewhere', { quoted: { media_id: id } }],
  ['no media', { media: null, text: `"media_id":"med_` }],
])('%s stays as it is', (_, data) => {
  const text = JSON.stringify(data);
  expect(withFreshLink(text, link)).toBe(text);
});

test('a file has the link of the attempt, whatever link was there, and all else in its order', () => {
  const data = { b: 1, media: { media_id: id, size: 3, url: 'https://old' }, a: 'é' };
  expect(withFreshLink(JSON.stringify(data), link)).toBe(
    JSON.stringify({ b: 1, media: { media_id: id, size: 3, url: link(uuid) }, a: 'é' }),
  );
});
