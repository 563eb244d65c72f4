import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFfmpeg } from '@gwk/core/process/ffmpeg';
import type { ToolAnswer } from '@gwk/core/decoder/jobs';
import { realTime } from '../../support/wait.js';
import { streamsOf } from '../../support/api/media-probe.js';
import { Samples } from '../../support/api/samples.js';
import { openTools } from '../../support/api/tools.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-sounds-'));
const samples = new Samples(folder);
const tools = openTools({
  timeMs: realTime(60_000),
  memoryMb: 1024,
  concurrency: 2,
  ffmpeg: findFfmpeg(undefined),
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const output = samples.path('output');
const read = (input: string, container: string, voice = false): Promise<ToolAnswer> =>
  tools.run(
    { tool: 'audio', input, output, container, voice, film: false },
    folder,
    AbortSignal.timeout(realTime(60_000)),
  );
const sound = (name: string, codec: string[]) => samples.sound(name, 2, codec);

test.each<[string, string, string[], string]>([
  ['a.flac', 'flac', [], 'aac 1 44100'],
  ['a.aiff', 'aiff', [], 'aac 1 44100'],
  ['vorbis.ogg', 'ogg', ['-c:a', 'libvorbis'], 'aac 1 44100'],
  ['flac.ogg', 'ogg', ['-c:a', 'flac'], 'aac 1 44100'],
  ['a.wav', 'wav', [], 'aac 1 44100'],
  ['fast.wav', 'wav', ['-ar', '192000'], 'aac 1 48000'],
  ['a.wma', 'asf', ['-c:a', 'wmav2'], 'aac 1 44100'],
  ['alac.m4a', 'mov', ['-c:a', 'alac'], 'aac 1 44100'],
  ['around.m4a', 'mov', ['-c:a', 'aac', '-ac', '6'], 'aac 2 44100'],
  ['around.flac', 'flac', ['-ac', '6'], 'aac 2 44100'],
  ['around.ogg', 'ogg', ['-c:a', 'libopus', '-ac', '6'], 'aac 2 48000'],
  ['opus.webm', 'matroska', ['-c:a', 'libopus'], 'aac 1 48000'],
])('converts %s to AAC', async (name, container, codec, expected) => {
  expect(await read(sound(name, codec), container)).toEqual({
    duration_s: 2,
    converted: true,
    mimetype: 'audio/mp4',
  });
  expect(streamsOf(output)).toEqual([expected]);
});

test.each<[string, string, string[], string | undefined]>([
  ['a.mp3', 'mp3', [], undefined],
  ['a.m4a', 'mov', ['-c:a', 'aac', '-ac', '2'], undefined],
  ['a.aac', 'aac', ['-c:a', 'aac'], undefined],
  ['opus.ogg', 'ogg', ['-c:a', 'libopus'], 'audio/ogg; codecs=opus'],
  ['two.ogg', 'ogg', ['-c:a', 'libopus', '-ac', '2'], 'audio/ogg; codecs=opus'],
])('sends %s as it is', async (name, container, codec, mimetype) => {
  expect(await read(sound(name, codec), container)).toEqual({
    ...{ duration_s: 2, converted: false },
    ...(mimetype !== undefined && { mimetype }),
  });
});

test('sends a voice message that is right already as it is, with its waveform', async () => {
  const answer = await read(sound('voice.ogg', ['-c:a', 'libopus', '-ac', '1']), 'ogg', true);
  expect(answer).toMatchObject({ duration_s: 2, converted: false, mimetype: 'audio/ogg; codecs=opus' });
  expect(Buffer.from(answer.waveform!, 'base64')).toHaveLength(64);
});

test.each<[string, string, string[]]>([
  ['two.ogg', 'ogg', ['-c:a', 'libopus', '-ac', '2']],
  ['vorbis.ogg', 'ogg', ['-c:a', 'libvorbis']],
  ['a.wma', 'asf', ['-c:a', 'wmav2']],
])('makes a voice message of %s', async (name, container, codec) => {
  const answer = await read(sound(`voice-${name}`, codec), container, true);
  expect(answer).toMatchObject({ converted: true, mimetype: 'audio/ogg; codecs=opus' });
  expect(streamsOf(output)).toEqual(['opus 1 48000']);
});
