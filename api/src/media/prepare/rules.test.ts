import type { MessageType } from '@gwk/core/resources/message';
import { planOf, typeOf, type Plan } from './rules.js';
import { delayAfter } from './preparer.js';
import { firstLink, readPage } from './preview.js';
import { Readable } from 'node:stream';
import { Unavailable } from './unavailable.js';

const plan = (type: MessageType, sniffed: string, voice = false) => {
  try {
    return JSON.stringify(planOf(type, sniffed, voice));
  } catch (error) {
    return (error as Error).message;
  }
};

test.each<[MessageType, string, boolean, string]>([
  ['image', 'image/jpeg', false, '{"do":"image","keep":true}'],
  ['image', 'image/webp', false, '{"do":"image","keep":false}'],
  ['image', 'image/svg+xml', false, 'the file is not a picture that can be sent'],
  ['image', 'application/pdf', false, 'the file is not a picture that can be sent'],
  ['sticker', 'image/webp', false, '{"do":"sticker"}'],
  ['sticker', 'image/png', false, 'the file is not a WebP that can be sent'],
  ['video', 'video/mp4', false, '{"do":"video","container":"mov"}'],
  ['video', 'audio/mpeg', false, 'the file is not a film that can be sent'],
  ['video', 'text/plain', false, 'the file is not a film that can be sent'],
  ['audio', 'audio/mpeg', false, '{"do":"audio","container":"mp3","to":null}'],
  ['audio', 'audio/mpeg', true, '{"do":"audio","container":"mp3","to":"voice"}'],
  ['audio', 'video/webm', true, '{"do":"audio","container":"matroska","to":"voice"}'],
  ['audio', 'video/webm', false, '{"do":"audio","container":"matroska","to":"aac"}'],
  ['audio', 'application/vnd.apple.mpegurl', true, 'the file is not a sound that can be sent'],
  ['document', 'application/octet-stream', false, '{"do":"nothing"}'],
])('%s of %s (voice: %s)', (type, sniffed, voice, expected) => {
  expect(plan(type, sniffed, voice)).toBe(expected);
});

const NOTHING: Plan = { do: 'nothing' };
const AUDIO: Plan = { do: 'audio', container: 'mp3', to: null };
test.each<[string, Plan, [sniffed: string, given: string | null], string]>([
  ['a document is what the request says', NOTHING, ['text/plain', 'text/csv'], 'text/csv'],
  ['a document without a word is what it was sniffed to be', NOTHING, ['text/plain', null], 'text/plain'],
  ['nonsense is not a type', NOTHING, ['text/plain', 'no type\r\n'], 'text/plain'],
  ['a sound may be called another sound', AUDIO, ['audio/mpeg', 'audio/mp3'], 'audio/mp3'],
  ['a sound is not called a page', AUDIO, ['audio/mpeg', 'text/html'], 'audio/mpeg'],
  ['voice is Opus', { ...AUDIO, to: 'voice' }, ['audio/mpeg', 'audio/mpeg'], 'audio/ogg; codecs=opus'],
  ['what was converted is JPEG', { do: 'image', keep: false }, ['image/gif', 'image/gif'], 'image/jpeg'],
])('%s', (_, given, [sniffed, wished], expected) => {
  expect(typeOf(given, sniffed, wished)).toBe(expected);
});

test('a passing fault is waited for twice, a lasting one not at all, one of ours for a minute', () => {
  const passing = new Unavailable('busy', { passing: true });
  expect([1, 2, 3].map((attempt) => delayAfter(passing, attempt))).toEqual([2_000, 10_000, null]);
  expect(delayAfter(new Unavailable('absent'), 1)).toBeNull();
  expect(delayAfter(new Error('no store'), 1)).toBe(5_000);
  expect(delayAfter(new Error('no store'), 12)).toBeNull();
  const waits = Array.from({ length: 11 }, (_, i) => delayAfter(new Error('no store'), i + 1)!);
  expect(waits.reduce((sum, ms) => sum + ms)).toBeGreaterThan(14 * 60_000);
});

test.each([
  ['see https://a.example/x?y=1.', 'https://a.example/x?y=1'],
  ['(http://a.example/)', 'http://a.example/'],
  ['*https://a.example*', 'https://a.example'],
  ['no link: a.example', null],
])('the first link of %j is %j', (text, link) => {
  expect(firstLink(text)).toBe(link);
});

test.each<[string, string, Record<string, string | null>]>([
  ['a title alone', '<title> A\n b </title>', { title: 'A b', description: null, image: null }],
  [
    'what is meant for previews comes first',
    '<title>A</title><meta property="og:title" content="B">',
    { title: 'B' },
  ],
  ['nothing of the body is read', '<head></head><body><title>A</title>', { title: null }],
  ['no HTML at all', '\u0000\u0001', { title: null }],
  ['a title without end', `<title>${'x'.repeat(2_000_000)}`, { title: `${'x'.repeat(199)}…` }],
])('of a page: %s', async (_, html, expected) => {
  expect(await readPage(Readable.from([Buffer.from(html)]))).toMatchObject(expected);
});
