import type { MessageType } from '@gwk/core/resources/message';
import { planPreparation, chooseMimetype, MediaUnavailable, type Plan } from './rules.js';
import { retryDelay } from './preparer.js';

type Variant = Parameters<typeof planPreparation>[2];
const plan = (type: MessageType, sniffed: string, variant: Variant = null) => {
  try {
    return JSON.stringify(planPreparation(type, sniffed, variant));
  } catch (error) {
    return (error as Error).message;
  }
};

test.each<[MessageType, string, Variant, string]>([
  ['image', 'image/jpeg', null, '{"tool":"image","decoder":"sharp"}'],
  ['image', 'image/heic', null, '{"tool":"image","decoder":"heic"}'],
  ['image', 'image/bmp', null, '{"tool":"image","decoder":"bmp"}'],
  ['image', 'image/gif', null, '{"tool":"gif"}'],
  ['image', 'image/webp', null, '{"tool":"webp","film":false}'],
  ['image', 'image/svg+xml', null, 'the file is not a picture that can be sent'],
  ['image', 'application/pdf', null, 'the file is not a picture that can be sent'],
  ['image', 'image/jpeg', 'small', '{"tool":"image","decoder":"sharp","small":true}'],
  ['image', 'image/webp', 'small', '{"tool":"webp","film":false,"small":true}'],
  ['image', 'image/gif', 'small', '{"tool":"gif","small":true}'],
  ['sticker', 'image/webp', null, '{"tool":"sticker","decoder":"sharp"}'],
  ['sticker', 'image/gif', null, '{"tool":"sticker","decoder":"ffmpeg","container":"gif"}'],
  ['sticker', 'video/mp4', null, '{"tool":"sticker","decoder":"ffmpeg","container":"mov"}'],
  ['sticker', 'audio/mpeg', null, 'the file is not a picture or a video that can be sent'],
  ['video', 'video/mp4', null, '{"tool":"video","container":"mov"}'],
  ['video', 'image/gif', null, '{"tool":"video","container":"gif"}'],
  ['video', 'image/webp', null, '{"tool":"webp","film":true}'],
  ['video', 'video/mp4', 'round', '{"tool":"video","container":"mov","round":true}'],
  ['video', 'image/webp', 'round', 'the file is not a video that can be sent'],
  ['video', 'image/png', null, 'the file is not a video that can be sent'],
  ['video', 'audio/mpeg', null, 'the file is not a video that can be sent'],
  ['video', 'text/plain', null, 'the file is not a video that can be sent'],
  ['audio', 'audio/mpeg', null, '{"tool":"audio","container":"mp3","voice":false,"film":false}'],
  ['audio', 'audio/mpeg', 'voice', '{"tool":"audio","container":"mp3","voice":true,"film":false}'],
  ['audio', 'video/webm', 'voice', '{"tool":"audio","container":"matroska","voice":true,"film":true}'],
  ['audio', 'image/gif', null, 'the file is not audio that can be sent'],
  ['audio', 'application/vnd.apple.mpegurl', 'voice', 'the file is not audio that can be sent'],
  ['document', 'application/octet-stream', null, 'null'],
])('%s of %s (%s)', (type, sniffed, variant, expected) => {
  expect(plan(type, sniffed, variant)).toBe(expected);
});

const NOTHING: Plan = null;
const AUDIO = { tool: 'audio', container: 'mp3', voice: false, film: false } as const;
test.each<[string, Plan, [sniffed: string, given: string | null], string]>([
  ['a document has the requested type', NOTHING, ['text/plain', 'text/csv'], 'text/csv'],
  ['a document without a requested type has the sniffed type', NOTHING, ['text/plain', null], 'text/plain'],
  ['an invalid requested type is ignored', NOTHING, ['text/plain', 'no type\r\n'], 'text/plain'],
  ['audio may get another audio type', AUDIO, ['audio/mpeg', 'audio/mp3'], 'audio/mp3'],
  ['audio cannot get a text type', AUDIO, ['audio/mpeg', 'text/html'], 'audio/mpeg'],
  ['a picture keeps its type', { tool: 'image', decoder: 'sharp' }, ['image/png', 'image/gif'], 'image/png'],
])('%s', (_, given, [sniffed, requested], expected) => {
  expect(chooseMimetype(given, sniffed, requested)).toBe(expected);
});

test('retries a temporary failure twice, a permanent one never, and own faults for 14 minutes', () => {
  const temporary = new MediaUnavailable('busy', { temporary: true });
  expect([1, 2, 3].map((attempt) => retryDelay(temporary, attempt))).toEqual([2_000, 10_000, null]);
  expect(retryDelay(new MediaUnavailable('absent'), 1)).toBeNull();
  expect(retryDelay(new Error('no store'), 1)).toBe(5_000);
  expect(retryDelay(new Error('no store'), 12)).toBeNull();
  const waits = Array.from({ length: 11 }, (_, i) => retryDelay(new Error('no store'), i + 1)!);
  expect(waits.reduce((sum, ms) => sum + ms)).toBeGreaterThan(14 * 60_000);
});
