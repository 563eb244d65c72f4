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
import sharp from 'sharp';
import { realTime, until } from '../../support/wait.js';
import { Samples } from '../../support/api/samples.js';
import { findFfmpeg, isUsable } from '@gwk/api/media/tools/find-ffmpeg';
import type { ToolAnswer, ToolJob } from '@gwk/api/media/tools/jobs';
import { ToolNotStarted } from '@gwk/api/media/tools/jobs';
import { Tools } from '@gwk/api/media/tools/run';

const folder = mkdtempSync(join(tmpdir(), 'gwk-tools-'));
const samples = new Samples(folder);
const ffmpeg = findFfmpeg(undefined);
const limits = { timeMs: realTime(20_000), memoryMb: 1024, concurrency: 2, ffmpeg };
const tools = new Tools(limits);
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
    to: 'voice',
  });

  test.each<[string, string, () => string]>([
    ['MP3', 'mp3', () => samples.sound('a.mp3')],
    ['M4A', 'mov', () => samples.sound('a.m4a')],
    ['WAV', 'wav', () => samples.sound('a.wav')],
    ['FLAC', 'flac', () => samples.sound('a.flac')],
    ['Ogg', 'ogg', () => samples.sound('a.ogg', 3, ['-c:a', 'libopus'])],
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
  const stays = { ...common, input: samples.sound('b.mp3', 2), container: 'mp3', to: null };
  expect(await run(stays)).toEqual({ duration_s: 2, converted: false });
  const film = { ...common, input: samples.film('b.mp4', 2), container: 'mov', to: 'aac' as const };
  expect(await run(film)).toEqual({ duration_s: 2, converted: true });
  expect(readFileSync(output).toString('latin1', 4, 8)).toBe('ftyp');
});

test('reports the size and duration of a video, and makes a thumbnail', async () => {
  const thumbnail = samples.path('thumbnail');
  const answer = await run({
    tool: 'video',
    input: samples.film('c.mp4'),
    container: 'mov',
    output: thumbnail,
  });
  expect(answer).toMatchObject({ width: 320, height: 240, duration_s: 2 });
  const picture = await sharp(Buffer.from(answer.thumbnail!, 'base64')).metadata();
  expect([picture.format, picture.width]).toEqual(['jpeg', 72]);
});

test('checks an image and makes a thumbnail, and converts formats that phones do not show to JPEG', async () => {
  const input = await samples.picture('a.jpg', 600, 400);
  const kept = await run({ tool: 'image', input, output, keep: true });
  expect(kept).toEqual({ width: 600, height: 400, thumbnail: expect.any(String) as string });
  const avif = await samples.picture('a.avif', 300, 200);
  const converted = await run({ tool: 'image', input: avif, output, keep: false });
  expect(converted).toMatchObject({ width: 300, height: 200, converted: true });
  expect((await sharp(output).metadata()).format).toBe('jpeg');
});

test.each([
  [512, 512, '{"width":512,"height":512,"animated":false}'],
  [511, 512, 'a sticker must have 512x512 pixels'],
  [512, 513, 'a sticker must have 512x512 pixels'],
])('decides about a sticker of %ix%i', async (width, height, expected) => {
  const input = await samples.picture(`${width}x${height}.webp`, width, height);
  expect(await outcome({ tool: 'sticker', input, output })).toBe(expected);
});

test('rejects a sticker that is not WebP, and reports an animated one', async () => {
  const png = await samples.picture('sticker.png', 512, 512);
  expect(await outcome({ tool: 'sticker', input: png, output })).toBe('a sticker must be WebP');
  const frame = (color: string) =>
    sharp({ create: { width: 512, height: 512, channels: 4, background: color } })
      .png()
      .toBuffer();
  const frames = await Promise.all(['red', 'blue'].map(frame));
  const input = samples.path('moves.webp');
  await sharp(frames, { join: { animated: true } })
    .webp()
    .toFile(input);
  expect(await run({ tool: 'sticker', input, output })).toMatchObject({ animated: true });
});

/** A PNG of 30000x30000 pixels in about 100 bytes. It would decode to 2.7 GB. */
async function bombOfPixels(): Promise<string> {
  const small = await sharp({ create: { width: 1, height: 1, channels: 3, background: 'black' } })
    .png()
    .toBuffer();
  const at = small.indexOf('IHDR');
  small.writeUInt32BE(30_000, at + 4);
  small.writeUInt32BE(30_000, at + 8);
  const { crc32 } = await import('node:zlib');
  small.writeUInt32BE(crc32(small.subarray(at, at + 17)), at + 17);
  return write('bomb.png', small);
}

function write(name: string, content: Buffer | string): string {
  writeFileSync(samples.path(name), content);
  return samples.path(name);
}

/** A hostile file must cause nothing but an answer, and must not reveal the secret beside it. */
describe('a hostile file', () => {
  const secret = write('secret.txt', 'the secret');
  const playlist = `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://${secret}\n#EXT-X-ENDLIST\n`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9"><image xlink:href="file://${secret}" width="9" height="9"/></svg>`;
  const audio = (input: string, container: string): ToolJob => ({
    tool: 'audio',
    input,
    container,
    output,
    to: 'voice',
  });
  const image = (input: string): ToolJob => ({ tool: 'image', input, output, keep: true });
  const cut = (path: string, part: number) => readFileSync(path).subarray(0, part);
  const undecodable = 'the file cannot be decoded';
  const noPicture = 'the picture cannot be decoded';

  test.each<[string, () => ToolJob | Promise<ToolJob>, string]>([
    ['a playlist named like a video', () => audio(write('x.mp4', playlist), 'mov'), undecodable],
    ['a playlist named like audio', () => audio(write('x.mp3', playlist), 'mp3'), undecodable],
    [
      'an ffconcat script',
      () => audio(write('x.wav', `ffconcat version 1.0\nfile ${secret}\n`), 'wav'),
      undecodable,
    ],
    ['SVG named like an image', () => image(write('x.png', svg)), noPicture],
    ['an image of 900 megapixels', async () => image(await bombOfPixels()), noPicture],
    ['a ZIP named like an image', () => image(write('zip.png', Buffer.from('504b0304', 'hex'))), noPicture],
    ['a video named like audio', () => audio(samples.film('y.webm'), 'mp3'), undecodable],
    [
      'a truncated image',
      async () => image(write('cut.jpg', cut(await samples.picture('whole.jpg', 800, 800), 20_000))),
      noPicture,
    ],
    ['a truncated video', () => audio(write('cut.mp4', cut(samples.film('w.mp4'), 900)), 'mov'), undecodable],
    ['an empty file', () => image(write('empty.png', '')), noPicture],
    ['a video without audio as audio', () => audio(silent(), 'mov'), undecodable],
  ])('is refused: %s', async (_, make, expected) => {
    expect(await outcome(await make())).toBe(expected);
  });

  function silent(): string {
    const path = samples.path('silent.mp4');
    const args = ['-f', 'lavfi', '-i', 'testsrc=duration=1:size=64x64:rate=5', '-pix_fmt', 'yuv420p'];
    execFileSync(ffmpeg!, ['-v', 'error', '-y', ...args, path]);
    return path;
  }

  test('that takes too long to decode is killed with its child processes', async () => {
    const slow = samples.path('slow');
    const ran = samples.path('slow-ran');
    writeFileSync(slow, `#!/bin/sh\n: > ${ran}\nexec sleep ${FOR_LONG}\n`, { mode: 0o755 });
    // Long enough to start the tool and the decoder on a busy machine.
    const impatient = new Tools({ ...limits, timeMs: realTime(8_000), ffmpeg: slow });
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
    const poor = new Tools({ ...limits, memoryMb: 20, ffmpeg: waits });
    expect(await outcome(audio(samples.sound('much.mp3'), 'mp3'), poor)).toBe(
      'decoding the file takes too much memory',
    );
  });

  test('that crashes the tool is refused, and the next file is decoded', async () => {
    const broken = new Tools({ ...limits, ffmpeg: '/bin/false' });
    expect(await outcome(audio(samples.sound('z2.mp3'), 'mp3'), broken)).toBe(undecodable);
    expect(await run(image(await samples.picture('next.png', 10, 10)))).toMatchObject({ width: 10 });
  });
});

test('a missing ffmpeg is not a fault of the file', async () => {
  const absent = new Tools({ ...limits, ffmpeg: samples.path('gone') });
  const job = {
    tool: 'audio',
    input: samples.sound('f.mp3', 1),
    container: 'mp3',
    output,
    to: null,
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
    { tool: 'audio', input: samples.sound('e.mp3', 1), container: 'mp3', output, to: null },
    new Tools({ ...limits, ffmpeg: spy }),
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
  const job = { tool: 'audio', input, container: 'mp3', output, to: 'voice' } as const;
  expect(await run(job, new Tools({ ...limits, ffmpeg: slow }))).toEqual(await run(job));
});

test('runs no more tools at once than the limit', async () => {
  const input = await samples.picture('one.png', 100, 100);
  const one = new Tools({ ...limits, concurrency: 1 });
  const answers = await Promise.all([1, 2, 3].map(() => run({ tool: 'thumbnail', input, output }, one)));
  expect(answers).toHaveLength(3);
});

test('recognises an ffmpeg that is missing, fails or has no libopus', async () => {
  const script = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return path;
  };
  expect(await isUsable(ffmpeg!)).toBe(true);
  expect(await isUsable(join(folder, 'absent'))).toBe(false);
  expect(await isUsable(folder)).toBe(false);
  expect(await isUsable(script('breaks', 'exit 1'))).toBe(false);
  expect(await isUsable(script('poor', 'echo " A..... aac  AAC"'))).toBe(false);
});
