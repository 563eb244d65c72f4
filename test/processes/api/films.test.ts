import { mkdtempSync, readdirSync, readFileSync, rmSync, copyFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { findFfmpeg } from '@gwk/core/process/ffmpeg';
import type { ToolAnswer } from '@gwk/core/decoder/jobs';
import { realTime } from '../../support/wait.js';
import { frameOf, isFaststart, pixelOf, streamsOf } from '../../support/api/media-probe.js';
import { Samples } from '../../support/api/samples.js';
import { openTools } from '../../support/api/tools.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-films-'));
const samples = new Samples(folder);
const ffmpeg = findFfmpeg(undefined);
const limits = { timeMs: realTime(60_000), memoryMb: 1024, concurrency: 2, ffmpeg };
const tools = openTools(limits);
// The disk space of a job is that of its folder.
afterEach(() => readdirSync(folder).forEach((name) => rmSync(join(folder, name))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const output = samples.path('output');
const convert = (input: string, container: string): Promise<ToolAnswer> =>
  tools.run({ tool: 'video', input, output, container }, folder, AbortSignal.timeout(realTime(120_000)));

const TEST = 'testsrc=duration=1:size=320x240:rate=10';
const SINE = 'sine=frequency=440:duration=1';
const lavfi = (...sources: string[]) => sources.flatMap((source) => ['-f', 'lavfi', '-i', source]);
const film = (name: string, codec: string[], picture = TEST, sound = SINE) =>
  samples.make(name, [...lavfi(picture, sound), '-shortest', ...codec]);
const H264 = ['-c:v', 'libx264', '-pix_fmt', 'yuv420p'];

const ENCODED = 'h264 High yuv420p 320x240';

test.each<[string, string, string[], string[]]>([
  ['vp8.webm', 'matroska', ['-c:v', 'libvpx', '-c:a', 'libvorbis'], [ENCODED, 'aac 1 44100']],
  ['vp9.webm', 'matroska', ['-c:v', 'libvpx-vp9', '-c:a', 'libopus'], [ENCODED, 'aac 1 48000']],
  ['av1.mp4', 'mov', ['-c:v', 'libaom-av1', '-cpu-used', '8'], [ENCODED, 'aac 1 44100']],
  ['hevc.mov', 'mov', ['-c:v', 'libx265', '-x265-params', 'log-level=none'], [ENCODED, 'aac 1 44100']],
  ['prores.mov', 'mov', ['-c:v', 'prores_ks', '-c:a', 'pcm_s24le'], [ENCODED, 'aac 1 44100']],
  ['mpeg4.avi', 'avi', ['-c:v', 'mpeg4', '-c:a', 'libmp3lame'], [ENCODED, 'aac 1 44100']],
  ['h264.avi', 'avi', [...H264, '-c:a', 'libmp3lame'], [ENCODED, 'aac 1 44100']],
  ['mpeg2.mpg', 'mpeg', ['-c:v', 'mpeg2video', '-r', '25', '-f', 'vob'], [ENCODED, 'aac 1 44100']],
  ['raw.m1v', 'mpeg', ['-c:v', 'mpeg1video', '-r', '25', '-an', '-f', 'mpeg1video'], [ENCODED]],
  ['raw.m2v', 'mpeg', ['-c:v', 'mpeg2video', '-r', '25', '-an', '-f', 'mpeg2video'], [ENCODED]],
  ['a.ts', 'mpegts', [...H264], [ENCODED, 'aac 1 44100']],
  ['a.flv', 'flv', ['-c:v', 'flv', '-c:a', 'libmp3lame'], [ENCODED, 'aac 1 44100']],
  ['mp3.mp4', 'mov', [...H264, '-c:a', 'libmp3lame', '-movflags', '+faststart'], [ENCODED, 'aac 1 44100']],
  ['a.wmv', 'asf', ['-c:v', 'wmv2', '-c:a', 'wmav2'], [ENCODED, 'aac 1 44100']],
  ['10bit.mp4', 'mov', ['-c:v', 'libx264', '-pix_fmt', 'yuv420p10le'], [ENCODED, 'aac 1 44100']],
  ['422.mp4', 'mov', ['-c:v', 'libx264', '-pix_fmt', 'yuv422p'], [ENCODED, 'aac 1 44100']],
  ['444.mp4', 'mov', ['-c:v', 'libx264', '-pix_fmt', 'yuv444p'], [ENCODED, 'aac 1 44100']],
  ['opus.mp4', 'mov', [...H264, '-c:a', 'libopus'], [ENCODED, 'aac 1 48000']],
  ['ac3.mkv', 'matroska', [...H264, '-c:a', 'ac3', '-ac', '6'], [ENCODED, 'aac 2 44100']],
  ['192k.mov', 'mov', [...H264, '-c:a', 'pcm_s16le', '-ar', '192000'], [ENCODED, 'aac 1 48000']],
  ['h264.mkv', 'matroska', H264, [ENCODED, 'aac 1 44100']],
  ['h264.mov', 'mov', H264, [ENCODED, 'aac 1 44100']],
  ['slow.mp4', 'mov', H264, [ENCODED, 'aac 1 44100']],
  ['fragments.mp4', 'mov', [...H264, '-movflags', 'frag_keyframe+empty_moov'], [ENCODED, 'aac 1 44100']],
])('converts %s', async (name, container, codec, streams) => {
  const answer = await convert(film(name, codec), container);
  expect(streamsOf(output)).toEqual(streams);
  expect(isFaststart(readFileSync(output))).toBe(true);
  expect(answer).toMatchObject({
    width: 320,
    height: 240,
    duration_s: 1,
    converted: true,
    mimetype: 'video/mp4',
  });
});

test.each<[string, string[]]>([
  ['right.mp4', H264],
  ['main.mp4', [...H264, '-profile:v', 'main']],
  ['baseline.mp4', [...H264, '-profile:v', 'baseline']],
  ['silent.mp4', [...H264, '-an']],
])('sends %s as it is', async (name, codec) => {
  const answer = await convert(film(name, [...codec, '-movflags', '+faststart']), 'mov');
  expect(answer).toEqual({ width: 320, height: 240, duration_s: 1, thumbnail: expect.any(String) as string });
});

test('cuts a round film to its middle', async () => {
  const stripes = 'color=red:duration=1:size=320x240:rate=10,drawbox=x=80:w=160:color=blue:t=fill';
  const input = film('wide.mp4', [...H264, '-movflags', '+faststart'], stripes);
  const job = { tool: 'video', container: 'mov', round: true, input, output } as const;
  const answer = await tools.run(job, folder, AbortSignal.timeout(realTime(120_000)));
  expect(answer).toMatchObject({ width: 240, height: 240, duration_s: 1, converted: true });
  expect(streamsOf(output)).toEqual(['h264 High yuv420p 240x240', 'aac 1 44100']);
  const frame = await frameOf(output);
  for (const [x, isBlue] of [
    [20, false],
    [60, true],
    [180, true],
    [220, false],
  ] as const) {
    const [red, , blue] = await pixelOf(frame, x, 120);
    expect([x, blue! > red!]).toEqual([x, isBlue]);
  }
});

test('sends a square round film as it is', async () => {
  const input = film('square.mp4', [...H264, '-movflags', '+faststart'], TEST.replace('320x240', '240x240'));
  const job = { tool: 'video', container: 'mov', round: true, input, output } as const;
  const answer = await tools.run(job, folder, AbortSignal.timeout(realTime(120_000)));
  expect(answer).toMatchObject({ width: 240, height: 240 });
  expect(answer).not.toHaveProperty('converted');
});

test('copies the streams of a film whose index is at its end', async () => {
  const input = film('late.mp4', H264);
  const before = await frameOf(input, 0.5);
  await convert(input, 'mov');
  expect((await frameOf(output, 0.5)).equals(before)).toBe(true);
});

test.each<[string, number, [number, number]]>([
  ['upright', 90, [240, 320]],
  ['upside down', 180, [320, 240]],
  ['upright the other way', 270, [240, 320]],
])('shows a film that was recorded %s', async (_, degrees, [width, height]) => {
  const film0 = film('flat.mp4', [...H264, '-movflags', '+faststart']);
  const input = rotate(film0, degrees);
  const kept = await convert(input, 'mov');
  expect(kept).toMatchObject({ width, height });
  expect(kept.converted).toBeUndefined();
  const thumbnail = await sharp(Buffer.from(kept.thumbnail!, 'base64')).metadata();
  expect(thumbnail.width < thumbnail.height).toBe(width < height);
  const hevc = rotate(film('turned.mov', ['-c:v', 'libx265', '-x265-params', 'log-level=none']), degrees);
  expect(await convert(hevc, 'mov')).toMatchObject({ width, height, converted: true });
  expect(streamsOf(output)[0]).toBe(`h264 High yuv420p ${width}x${height}`);
  await convert(rotate(film('turned-prores.mov', ['-c:v', 'prores_ks']), degrees), 'mov');
  expect(streamsOf(output)[0]).toBe(`h264 High yuv420p ${width}x${height}`);
});

/** Writes a rotation into the header of the video track, as phones do. */
function rotate(path: string, degrees: number): string {
  const copy = `${path}.${degrees}.mp4`;
  copyFileSync(path, copy);
  return samples.rewrite(copy, (bytes) => {
    const at = bytes.indexOf('tkhd') + 4 + 40;
    const [cos, sin] = [
      Math.round(Math.cos((degrees * Math.PI) / 180)),
      Math.round(Math.sin((degrees * Math.PI) / 180)),
    ];
    [cos, sin, 0, -sin, cos].forEach((value, index) => {
      bytes.writeInt32BE(value * 65_536, at + [0, 4, 8, 12, 16][index]!);
    });
  });
}

test.each<[string, string, string[], string, string]>([
  ['odd sides', 'odd.webm', ['-c:v', 'libvpx'], 'testsrc=duration=1:size=321x241:rate=10', '320x240'],
  ['pixels that are not square', 'wide.webm', ['-c:v', 'libvpx', '-vf', 'setsar=2'], TEST, '640x240'],
  [
    'more pixels than the apps show',
    'large.webm',
    ['-c:v', 'libvpx', '-deadline', 'realtime'],
    'testsrc=duration=0.2:size=2560x1440:rate=5',
    '1280x720',
  ],
  ['one pixel', 'small.mkv', ['-c:v', 'mpeg4'], 'color=red:duration=1:size=2x2:rate=5', '2x2'],
])('converts a film with %s', async (...row) => {
  const [, name, codec, picture, size] = row;
  await convert(film(name, codec, picture), 'matroska');
  expect(streamsOf(output)[0]).toMatch(new RegExp(` ${size}$`));
});

test('keeps the times of a film of changing rate', async () => {
  const picture = 'testsrc=duration=3:size=320x240:rate=30,select=not(mod(n\\,10))+lt(n\\,20)';
  const input = film('changing.webm', ['-c:v', 'libvpx', '-fps_mode', 'vfr', '-an'], picture);
  const { duration_s } = await convert(input, 'matroska');
  expect(duration_s).toBe(3);
});

test('shows the first picture that is not black', async () => {
  const dark = "color=black:duration=2:size=320x240:rate=10,drawbox=c=white:t=fill:enable='gt(t,1)'";
  const { thumbnail } = await convert(film('dark.mp4', H264, dark, 'sine=duration=2'), 'mov');
  expect((await pixelOf(Buffer.from(thumbnail!, 'base64'), 10, 10))[0]).toBeGreaterThan(200);
  const black = await convert(film('black.mp4', H264, 'color=black:duration=1:size=320x240:rate=10'), 'mov');
  expect((await pixelOf(Buffer.from(black.thumbnail!, 'base64'), 10, 10))[0]).toBeLessThan(40);
});

test('maps the colours of an HDR film', async () => {
  const hdr = [
    '-vf',
    'format=yuv420p10le,setparams=color_primaries=bt2020:color_trc=arib-std-b67:colorspace=bt2020nc',
  ];
  const x265 = 'log-level=none:colorprim=bt2020:transfer=arib-std-b67:colormatrix=bt2020nc';
  const input = film('hdr.mov', [...hdr, '-c:v', 'libx265', '-x265-params', x265, '-tag:v', 'hvc1']);
  await convert(input, 'mov');
  expect(streamsOf(output)[0]).toBe(ENCODED);
  expect(JSON.stringify(streamsOf(output))).not.toContain('arib');
});

test.each<[string, string]>([
  ['sound', 'the file has no video'],
  ['cover', 'the file has no video'],
])('refuses a film of %s only', async (kind, expected) => {
  const cover = await samples.picture('cover.jpg', 90, 90);
  const sound = samples.make('tone.m4a', lavfi(SINE));
  const covered = [
    '-i',
    sound,
    '-i',
    cover,
    '-map',
    '0',
    '-map',
    '1',
    '-c',
    'copy',
    '-disposition:v',
    'attached_pic',
  ];
  const input = kind === 'sound' ? sound : samples.make('covered.mp4', covered);
  await expect(convert(input, 'mov')).rejects.toThrow(expected);
});

describe('an animated GIF', () => {
  const gif = () => samples.make('moves.gif', [...lavfi('testsrc=duration=2:size=101x75:rate=10')]);

  test.each(['video', 'gif'] as const)('becomes a looping film for the tool %s', async (tool) => {
    const job = tool === 'video' ? ({ tool, container: 'gif' } as const) : ({ tool } as const);
    const answer = await tools.run(
      { ...job, input: gif(), output },
      folder,
      AbortSignal.timeout(realTime(60_000)),
    );
    expect(answer).toMatchObject({
      gif: true,
      duration_s: 2,
      converted: true,
      mimetype: 'video/mp4',
      width: 100,
      height: 74,
    });
    expect(streamsOf(output)).toEqual(['h264 High yuv420p 100x74']);
  });

  test('is white where it is transparent', async () => {
    const frames = ['red', 'blue'].map((background) =>
      sharp({ create: { width: 40, height: 40, channels: 4, background: '#00000000' } })
        .composite([
          { input: { create: { width: 20, height: 20, channels: 4, background } }, left: 0, top: 0 },
        ])
        .png()
        .toBuffer(),
    );
    const input = samples.path('clear.gif');
    await sharp(await Promise.all(frames), { join: { animated: true } })
      .gif()
      .toFile(input);
    await tools.run({ tool: 'gif', input, output }, folder, AbortSignal.timeout(realTime(60_000)));
    expect(Math.min(...(await pixelOf(await frameOf(output), 35, 35)))).toBeGreaterThan(245);
  });

  test('of one picture becomes a JPEG for the tool gif', async () => {
    const input = await samples.picture('still.gif', 30, 20);
    const answer = await tools.run(
      { tool: 'gif', input, output },
      folder,
      AbortSignal.timeout(realTime(60_000)),
    );
    expect(answer).toMatchObject({ mimetype: 'image/jpeg', width: 30, height: 20 });
    expect(answer.gif).toBeUndefined();
  });
});

describe('an animated WebP', () => {
  const SIDE = 40;
  /** Colours at the left, transparent at the right, and a time for each. */
  const webp = async (name: string, colours: string[], delay: number[], side = SIDE): Promise<string> => {
    const frames = colours.map((background) => {
      const left = { create: { width: side / 2, height: side, channels: 4, background } } as const;
      return sharp({ create: { width: side, height: side, channels: 4, background: '#00000000' } })
        .composite([{ input: left, left: 0, top: 0 }])
        .png()
        .toBuffer();
    });
    await sharp(await Promise.all(frames), { join: { animated: true } })
      .webp({ delay, lossless: true })
      .toFile(samples.path(name));
    return samples.path(name);
  };
  const run = (input: string, film: boolean) =>
    tools.run({ tool: 'webp', film, input, output }, folder, AbortSignal.timeout(realTime(60_000)));
  const colourAt = async (seconds: number, x = 10) =>
    (await pixelOf(await frameOf(output, seconds), x, 20)).slice(0, 3);

  test.each([false, true])(
    'becomes a looping film with the times of its pictures (film: %s)',
    async (film) => {
      const input = await webp('moves.webp', ['#ff0000', '#00ff00', '#0000ff'], [500, 1_000, 500]);
      expect(await run(input, film)).toEqual({
        ...{ width: SIDE, height: SIDE, duration_s: 2, gif: true, converted: true, mimetype: 'video/mp4' },
        thumbnail: expect.any(String) as string,
      });
      expect(streamsOf(output)).toEqual(['h264 High yuv420p 40x40']);
      expect(isFaststart(readFileSync(output))).toBe(true);
      const [red, green, blue] = [await colourAt(0), await colourAt(0.9), await colourAt(1.4)];
      expect([red, green, blue].map((colour) => colour.indexOf(Math.max(...colour)))).toEqual([0, 1, 2]);
      expect(Math.min(...(await colourAt(0, 35)))).toBeGreaterThan(245);
    },
  );

  test('of pictures that each last 3 s keeps their times', async () => {
    const input = await webp('slow.webp', ['#ff0000', '#0000ff'], [3_000, 3_000]);
    expect(await run(input, false)).toMatchObject({ duration_s: 6 });
  });

  test('that is large shrinks', async () => {
    const input = await webp('large.webp', ['red', 'blue'], [100, 100], 3_000);
    expect(await run(input, false)).toMatchObject({ width: 1_280, height: 1_280 });
  });

  test('of one picture becomes a JPEG, and is no film', async () => {
    const input = await samples.picture('still.webp', 30, 20);
    expect(await run(input, false)).toMatchObject({ mimetype: 'image/jpeg', width: 30, height: 20 });
    await expect(run(input, true)).rejects.toThrow('the file has no video');
  });
});

test('names the encoder that ffmpeg lacks', async () => {
  const poor = samples.script(
    'no-x264',
    `case "$*" in *-encoders*) "${ffmpeg}" "$@" | grep -v libx264 ;; *) exec "${ffmpeg}" "$@" ;; esac`,
  );
  const lacking = openTools({ ...limits, ffmpeg: poor });
  const job = {
    tool: 'video',
    input: film('lack.webm', ['-c:v', 'libvpx']),
    container: 'matroska',
    output,
  } as const;
  await expect(lacking.run(job, folder, AbortSignal.timeout(realTime(60_000)))).rejects.toThrow(
    'the file needs a conversion, and ffmpeg of this gateway has no libx264',
  );
});
