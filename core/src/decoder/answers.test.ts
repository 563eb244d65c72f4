import { parseToolAnswer } from './answers.js';

const PIXEL = Buffer.from('a small JPEG').toString('base64');

test.each([
  { width: 72, height: 48, thumbnail: PIXEL },
  { duration_s: 3, waveform: Buffer.alloc(64).toString('base64'), converted: true },
  { page: { title: 'A', description: null, image: null } },
  { refused: 'a sticker must have 512x512 pixels' },
  { notRun: 'ffmpeg: 127' },
  {},
])('accepts the answer %j', (answer) => {
  expect(parseToolAnswer(JSON.stringify(answer))).toEqual(answer);
});

test.each<[string, unknown]>([
  ['no object', null],
  ['an unknown field', { width: 1, admin: true }],
  ['a width that is no number', { width: '1' }],
  ['a width below 1', { width: 0 }],
  ['a thumbnail that is not base64', { thumbnail: '<svg>' }],
  ['a waveform of 65 points', { waveform: Buffer.alloc(65).toString('base64') }],
  ['a title of 5,000 characters', { page: { title: 'A'.repeat(5_000), description: null, image: null } }],
  ['a reason with a link', { refused: 'see https://example.org/' }],
  ['a reason of 101 characters', { refused: 'a'.repeat(101) }],
])('refuses %s', (_, answer) => {
  expect(() => parseToolAnswer(JSON.stringify(answer))).toThrow('the file cannot be decoded');
});

test('refuses text that is not JSON', () => {
  expect(() => parseToolAnswer('{"width":')).toThrow('the file cannot be decoded');
});
