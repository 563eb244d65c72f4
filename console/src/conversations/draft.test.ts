import { chooseType, planPart, type Draft } from './draft.js';

test.each([
  ['image/jpeg', 1_000, 'image'],
  ['image/svg+xml', 1_000, 'document'],
  ['video/mp4', 1_000, 'video'],
  ['video/mp4', 70_000_000, 'document'],
  ['audio/ogg', 1_000, 'audio'],
  ['text/html', 1_000, 'document'],
])('sends %s of %d bytes as %s', (mimetype, size, type) => {
  expect(chooseType(mimetype, size)).toBe(type);
});

const FILE = { file: {} as File, key: 'file' };
const UPLOADED = { id: 'med_1', size: 9, sha256: 'ab', filename: 'a.pdf' };
const draft = (more: Partial<Draft>): Draft => ({ text: '', files: [], replyTo: null, key: 'k', ...more });

test('a text is one message', () => {
  const { part, rest } = planPart(draft({ text: ' Oi \n' }), null);
  expect(part).toEqual({ type: 'text', text: { body: 'Oi' } });
  expect(rest).toMatchObject({ text: '', files: [] });
});

test('the text is the caption of the first file, and other files follow with keys of their own', () => {
  const files = [FILE, { ...FILE, key: 'next' }];
  const { part, rest } = planPart(draft({ text: 'Oi', files }), { ...UPLOADED, mimetype: 'image/png' });
  expect(part).toEqual({ type: 'image', image: { media: { media_id: 'med_1' }, caption: 'Oi' } });
  expect(rest).toMatchObject({ text: '', files: [{ key: 'next' }], replyTo: null });
  expect(rest.key).not.toBe('k');
});

test('a document keeps its name, and the text follows a sound', () => {
  const pdf = planPart(draft({ files: [FILE] }), { ...UPLOADED, mimetype: 'application/pdf' });
  expect(pdf.part).toEqual({
    type: 'document',
    document: { media: { media_id: 'med_1', filename: 'a.pdf' } },
  });
  const sound = planPart(draft({ text: 'Oi', files: [FILE] }), { ...UPLOADED, mimetype: 'audio/ogg' });
  expect(sound.part).toEqual({ type: 'audio', audio: { media: { media_id: 'med_1' } } });
  expect(sound.rest).toMatchObject({ text: 'Oi', files: [] });
});
