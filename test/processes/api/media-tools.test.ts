import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withoutFileHandles } from '../../support/file-handles.js';
import { realTime, until } from '../../support/wait.js';
import { Samples } from '../../support/api/samples.js';
import { checkFfmpeg, findFfmpeg } from '@gwk/core/process/ffmpeg';
import type { ToolAnswer, ToolJob } from '@gwk/core/decoder/jobs';
import { ToolNotStarted } from '@gwk/core/decoder/jobs';
import { openTools } from '../../support/api/tools.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-tools-'));
const samples = new Samples(folder);
const ffmpeg = findFfmpeg(undefined);
const limits = { timeMs: realTime(20_000), memoryMb: 1024, concurrency: 2, ffmpeg };
const tools = openTools(limits);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const output = samples.path('output');
/** A duration that no other process sleeps. */
const FOR_LONG = '98765.4321';
const run = (job: ToolJob, by = tools): Promise<ToolAnswer> =>
  by.run(job, folder, AbortSignal.timeout(realTime(60_000)));
const outcome = (job: ToolJob, by = tools) =>
  run(job, by).then(
    (answer) => JSON.stringify(answer),
    (error: Error) => error.message,
  );

/** Duration from the Ogg headers: (last granule - pre-skip) / 48000. */
function secondsOfOgg(bytes: Buffer): number {
  const last = bytes.lastIndexOf('OggS');
  const preSkip = bytes.readUInt16LE(bytes.indexOf('OpusHead') + 10);
  return (Number(bytes.readBigInt64LE(last + 6)) - preSkip) / 48_000;
}

describe('a voice message', () => {
  const job = (input: string, container: string): ToolJob => ({
    tool: 'audio',
    input,
    container,
    output,
    voice: true,
    film: false,
  });

  test.each<[string, string, () => string]>([
    ['MP3', 'mp3', () => samples.sound('a.mp3')],
    ['M4A', 'mov', () => samples.sound('a.m4a')],
    ['WAV', 'wav', () => samples.sound('a.wav')],
    ['FLAC', 'flac', () => samples.sound('a.flac')],
    ['Ogg', 'ogg', () => samples.sound('a.ogg', 3, ['-c:a', 'libopus', '-ac', '2'])],
    ['a video', 'mov', () => samples.film('a.mp4', 3)],
    ['WebM', 'matroska', () => samples.film('a.webm', 3)],
  ])(
    'from %s is mono Ogg Opus at 48 kHz, with its duration and 64 waveform points',
    async (_, kind, make) => {
      const answer = await run(job(make(), kind));
      const bytes = readFileSync(output);
      const head = bytes.indexOf('OpusHead');
      expect(bytes.subarray(0, 4).toString()).toBe('OggS');
      expect([bytes[head + 9], bytes.readUInt32LE(head + 12)]).toEqual([1, 48_000]);
      expect(secondsOfOgg(bytes)).toBeCloseTo(3, 0);
      expect(answer).toMatchObject({ duration_s: 3, converted: true });
      expect(Buffer.from(answer.waveform!, 'base64')).toHaveLength(64);
    },
  );

  test('that becomes louder has waveform points that rise to 100', async () => {
    const { waveform } = await run(job(samples.sound('louder.wav', 6), 'wav'));
    const points = [...Buffer.from(waveform!, 'base64')];
    expect(Math.max(...points)).toBe(100);
    expect(points.at(-1)).toBeGreaterThan(95);
    expect(points[0]).toBeLessThan(5);
    for (let i = 8; i < 64; i += 8) expect(points[i]).toBeGreaterThan(points[i - 8]!);
  });
});

test('measures audio that needs no conversion, and converts the audio of a video to AAC', async () => {
  const common = { tool: 'audio', output } as const;
  const stays = { ...common, input: samples.sound('b.mp3', 2), container: 'mp3', voice: false, film: false };
  expect(await run(stays)).toEqual({ duration_s: 2, converted: false });
  const film = { ...common, input: samples.film('b.mp4', 2), container: 'mov', voice: false, film: true };
  expect(await run(film)).toEqual({ duration_s: 2, converted: true, mimetype: 'audio/mp4' });
  expect(readFileSync(output).toString('latin1', 4, 8)).toBe('ftyp');
});

test.each([
  [true, 'the voice message is longer than 1 hour'],
  [false, '{"duration_s":3605,"converted":true,"mimetype":"audio/mp4"}'],
] as const)('limits the duration of audio (voice: %s)', async (voice, expected) => {
  const input = wave('hour.wav', 3_605);
  expect(await outcome({ tool: 'audio', input, container: 'wav', output, voice, film: false })).toBe(
    expected,
  );
});

test('limits the duration of audio that does not state it', async () => {
  const long = wave('hours.wav', 3 * 3_600 + 5);
  const input = samples.path('unstated.mp3');
  const quick = ['-ar', '8000', '-b:a', '8k', '-write_xing', '0'];
  execFileSync(ffmpeg!, ['-v', 'error', '-y', '-i', long, ...quick, input]);
  const patient = openTools({ ...limits, timeMs: realTime(60_000) });
  expect(
    await outcome({ tool: 'audio', input, container: 'mp3', output, voice: false, film: false }, patient),
  ).toBe('the audio is longer than 3 hours');
});

test('refuses a stated duration above the limit', async () => {
  const input = wave('long.wav', 4 * 3_600);
  expect(await outcome({ tool: 'audio', input, container: 'wav', output, voice: false, film: false })).toBe(
    'the audio is longer than 3 hours',
  );
});

/** Silence of 8 bit and 1 kHz. */
function wave(name: string, seconds: number): string {
  const rate = 1_000;
  const head = Buffer.alloc(44);
  head.write('RIFF');
  head.writeUInt32LE(36 + seconds * rate, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36);
  head.writeUInt32LE(seconds * rate, 40);
  return write(name, Buffer.concat([head, Buffer.alloc(seconds * rate, 128)]));
}

/** Codecs of phones, cameras, browsers, editors and telephone systems. */
test.each<[string, string[]]>([
  ['mp4', ['-c:v', 'libx264']],
  ['mp4', ['-c:v', 'libx265', '-x265-params', 'log-level=none']],
  ['mp4', ['-c:v', 'mpeg4']],
  ['mp4', ['-c:v', 'libaom-av1', '-cpu-used', '8']],
  ['mov', ['-c:v', 'mjpeg', '-pix_fmt', 'yuvj420p']],
  ['3gp', ['-c:v', 'h263', '-s', '176x144']],
  ['matroska', ['-c:v', 'libvpx']],
  ['matroska', ['-c:v', 'libvpx-vp9']],
  ['avi', ['-c:v', 'msmpeg4']],
  ['mpeg', ['-c:v', 'mpeg1video', '-r', '25']],
  ['mpeg', ['-c:v', 'mpeg2video', '-r', '25']],
  ['ogg', ['-c:v', 'libtheora']],
])('decodes a video in %s with %j', async (format, codec) => {
  const input = samples.picturesWith(`video-${codec[1]}.${format}`, format, codec);
  const container = ['mp4', '3gp'].includes(format) ? 'mov' : format;
  expect(await run({ tool: 'video', input, container, output })).toMatchObject({
    thumbnail: expect.any(String) as string,
  });
});

test.each<[string, string[]]>([
  ['mp3', ['-c:a', 'libmp3lame']],
  ['adts', ['-c:a', 'aac']],
  ['mp4', ['-c:a', 'alac']],
  ['matroska', ['-c:a', 'ac3']],
  ['matroska', ['-c:a', 'eac3']],
  ['ogg', ['-c:a', 'libvorbis']],
  ['flac', ['-c:a', 'flac']],
  ['aiff', ['-c:a', 'pcm_s24be']],
  ['wav', ['-c:a', 'pcm_f32le']],
  ['wav', ['-c:a', 'pcm_alaw', '-ar', '8000']],
  ['wav', ['-c:a', 'adpcm_ima_wav']],
  ['mpeg', ['-c:a', 'mp2']],
])('decodes audio in %s with %j', async (format, codec) => {
  const input = samples.sound(`sound-${codec[1]}.${format}`, 2, [...codec, '-f', format]);
  const container = { adts: 'aac', mp4: 'mov' }[format] ?? format;
  expect(await run({ tool: 'audio', input, container, output, voice: false, film: false })).toMatchObject({
    duration_s: 2,
  });
});

test('decodes an MP3 with a PNG as its cover', async () => {
  const cover = await samples.picture('cover.png', 90, 90);
  const inputs = ['-i', samples.sound('plain.mp3', 2), '-i', cover];
  const input = samples.path('covered.mp3');
  execFileSync(ffmpeg!, ['-v', 'error', ...inputs, '-map', '0', '-map', '1', '-c', 'copy', input]);
  expect(
    await run({ tool: 'audio', input, container: 'mp3', output, voice: false, film: false }),
  ).toMatchObject({
    duration_s: 2,
  });
});

function write(name: string, content: Buffer | string): string {
  writeFileSync(samples.path(name), content);
  return samples.path(name);
}

describe('a hostile file', () => {
  const audio = (input: string, container: string): ToolJob => ({
    tool: 'audio',
    input,
    container,
    output,
    voice: true,
    film: false,
  });

  test('that takes too long to decode is killed with its child processes', async () => {
    const slow = samples.path('slow');
    const ran = samples.path('slow-ran');
    writeFileSync(slow, `#!/bin/sh\n: > ${ran}\nexec sleep ${FOR_LONG}\n`, { mode: 0o755 });
    // Long enough to start the tool and the decoder on a busy machine.
    const impatient = openTools({ ...limits, timeMs: realTime(8_000), ffmpeg: slow });
    expect(await outcome(audio(samples.sound('long.mp3'), 'mp3'), impatient)).toBe(
      'decoding the file takes too long',
    );
    // Otherwise the test proves nothing.
    expect(existsSync(ran)).toBe(true);
    await until(() => processesWith(FOR_LONG).length === 0, { what: 'the decoder has ended' });
  });

  test('that exceeds its memory limit is refused', async () => {
    // The process sleeps until it is killed, so a late check still finds it.
    const waits = write('waits', `#!/bin/sh\nexec sleep ${FOR_LONG}\n`);
    chmodSync(waits, 0o755);
    // Node alone takes more than 20 MB.
    const poor = openTools({ ...limits, memoryMb: 20, ffmpeg: waits });
    expect(await outcome(audio(samples.sound('much.mp3'), 'mp3'), poor)).toBe(
      'decoding the file takes too much memory',
    );
  });

  test('that crashes the tool is refused, and the next file is decoded', async () => {
    const broken = openTools({ ...limits, ffmpeg: '/bin/false' });
    expect(await outcome(audio(samples.sound('z2.mp3'), 'mp3'), broken)).toBe('the file cannot be decoded');
    const picture = { tool: 'image', input: await samples.picture('next.png', 10, 10), output } as const;
    expect(await run({ ...picture, decoder: 'sharp' })).toMatchObject({ width: 10 });
  });
});

test('a missing ffmpeg is not a fault of the file', async () => {
  const absent = openTools({ ...limits, ffmpeg: samples.path('gone') });
  const job = {
    tool: 'audio',
    input: samples.sound('f.mp3', 1),
    container: 'mp3',
    output,
    voice: false,
    film: false,
  } as const;
  await expect(run(job, absent)).rejects.toThrow(ToolNotStarted);
});

function processesWith(argument: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return '';
      }
    })
    .filter((command) => command.includes(argument));
}

test('limits a decoder, and hides the environment of the worker from it', async () => {
  process.env['A_SECRET_OF_THE_WORKER'] = 'secret';
  const spy = samples.path('spy');
  writeFileSync(spy, `#!/bin/sh\n(env; ulimit -v; ulimit -c) > ${samples.path('seen')}\nexit 1\n`, {
    mode: 0o755,
  });
  await outcome(
    { tool: 'audio', input: samples.sound('e.mp3', 1), container: 'mp3', output, voice: false, film: false },
    openTools({ ...limits, ffmpeg: spy }),
  );
  const seen = readFileSync(samples.path('seen'), 'utf8');
  expect(seen).not.toMatch(/A_SECRET|PATH=.*node_modules|DATABASE/);
  expect(seen.trimEnd().split('\n').slice(-2)).toEqual([String(1024 * 1024), '0']);
});

/** The end of ffmpeg and the end of its output may be seen in either order. */
test.each([
  [
    'that exits long after its last output',
    () => `"${ffmpeg}" "$@"; code=$?; exec 1>&-; sleep 0.3; exit $code`,
  ],
  [
    'whose last output is read long after its exit',
    (path: string) =>
      `case "$*" in *pipe:1) "${ffmpeg}" "$@" > "${path}" || exit; (sleep 0.3; cat "${path}") 2>&- & exit 0 ;; esac
exec "${ffmpeg}" "$@"`,
  ],
])('accepts the output of an ffmpeg %s', async (_, text) => {
  const slow = samples.path('slow-ffmpeg');
  writeFileSync(slow, `#!/bin/sh\n${text(samples.path('pcm'))}\n`, { mode: 0o755 });
  const input = samples.sound('whole.mp3', 3);
  const job = { tool: 'audio', input, container: 'mp3', output, voice: true, film: false } as const;
  expect(await run(job, openTools({ ...limits, ffmpeg: slow }))).toEqual(await run(job));
});

test('runs no more tools at once than the limit', async () => {
  const input = await samples.picture('one.png', 100, 100);
  const one = openTools({ ...limits, concurrency: 1 });
  const answers = await Promise.all([1, 2, 3].map(() => run({ tool: 'thumbnail', input, output }, one)));
  expect(answers).toHaveLength(3);
});

test('recognises an ffmpeg that is missing, fails or is too old', async () => {
  const script = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return path;
  };
  expect(await checkFfmpeg(ffmpeg!)).toBeNull();
  expect(await withoutFileHandles(() => checkFfmpeg(ffmpeg!))).toBeNull();
  expect(await checkFfmpeg(join(folder, 'absent'))).toBe('it does not run');
  expect(await checkFfmpeg(folder)).toBe('it does not run');
  expect(await checkFfmpeg(script('breaks', 'exit 1'))).toBe('it does not run');
  const old = 'echo "  libavcodec     58. 42.100 / 58. 42.100" >&2; echo " A..... libopus  Opus"';
  expect(await checkFfmpeg(script('old', old))).toBe('it is older than 5.1');
});
