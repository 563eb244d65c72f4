import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { findFfmpeg } from '@gwk/core/process/ffmpeg';
import { sniff } from '@gwk/api/media/sniff';
import type { PictureDecoder, StickerPlan, ToolAnswer } from '@gwk/core/decoder/jobs';
import { realTime } from '../../support/wait.js';
import { makeHeic } from '../../support/api/heic.js';
import { pixelOf } from '../../support/api/media-probe.js';
import { Samples } from '../../support/api/samples.js';
import { openTools } from '../../support/api/tools.js';

// Every test writes the same file.
sharp.cache(false);
const folder = mkdtempSync(join(tmpdir(), 'gwk-pictures-'));
const samples = new Samples(folder);
const ffmpeg = findFfmpeg(undefined);
const tools = openTools({ timeMs: realTime(60_000), memoryMb: 1024, concurrency: 2, ffmpeg });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const output = samples.path('output');
const within = () => AbortSignal.timeout(realTime(120_000));
const convert = (input: string, decoder: PictureDecoder = 'sharp'): Promise<ToolAnswer> =>
  tools.run({ tool: 'image', input, output, decoder }, folder, within());
const sniffed = (path: string) => sniff(readFileSync(path), { filename: null, declared: null });

const RED = { r: 255, g: 0, b: 0 };
const red = (width = 60, height = 40) => sharp({ create: { width, height, channels: 3, background: RED } });
/** Red at the left, transparent at the right. */
const half = (side = 64) =>
  sharp({ create: { width: side, height: side, channels: 4, background: '#00000000' } }).composite([
    { input: { create: { width: side / 2, height: side, channels: 4, background: RED } }, left: 0, top: 0 },
  ]);
async function write(name: string, picture: Sharp): Promise<string> {
  await picture.toFile(samples.path(name));
  return samples.path(name);
}
const isRed = async (x: number, y: number): Promise<void> => {
  const [r, g, b] = await pixelOf(output, x, y);
  expect(r).toBeGreaterThan(200);
  expect(Math.max(g!, b!)).toBeLessThan(60);
};

test.each<[string, number, number, object]>([
  ['is shrunk to the standard size', 3_200, 800, { width: 1_600, height: 400, converted: true }],
  ['within the standard size stays as it is', 1_600, 1_200, { width: 1_600, height: 1_200 }],
])('the standard version of a picture %s', async (_, width, height, expected) => {
  const input = await write('large.jpg', red(width, height).jpeg());
  const job = { tool: 'image', decoder: 'sharp', small: true, input, output } as const;
  const { thumbnail, mimetype = 'image/jpeg', ...answer } = await tools.run(job, folder, within());
  expect([answer, mimetype]).toEqual([expected, 'image/jpeg']);
  expect(thumbnail).toBeDefined();
});

test('the standard version of a picture is upright', async () => {
  const input = await write('turned.jpg', red(2_000, 500).jpeg().withMetadata({ orientation: 6 }));
  const job = { tool: 'image', decoder: 'sharp', small: true, input, output } as const;
  expect(await tools.run(job, folder, within())).toMatchObject({
    width: 400,
    height: 1_600,
    converted: true,
  });
});

test.each<[string, string, PictureDecoder, () => string | Promise<string>]>([
  ['HEIC', 'image/heic', 'heic', () => makeHeic(samples, 'a.heic', 128, 64)],
  [
    'BMP',
    'image/bmp',
    'bmp',
    () => samples.make('a.bmp', ['-f', 'lavfi', '-i', 'color=red:size=128x64', '-frames:v', '1']),
  ],
  ['TIFF', 'image/tiff', 'sharp', () => write('a.tiff', red(128, 64).tiff())],
  [
    'TIFF with CMYK',
    'image/tiff',
    'sharp',
    () => write('cmyk.tiff', red(128, 64).toColourspace('cmyk').tiff()),
  ],
  [
    'JPEG with CMYK',
    'image/jpeg',
    'sharp',
    () => write('cmyk.jpg', red(128, 64).toColourspace('cmyk').jpeg({ progressive: true })),
  ],
  ['AVIF', 'image/avif', 'sharp', () => write('a.avif', red(128, 64).avif())],
  ['WebP', 'image/webp', 'sharp', () => write('a.webp', red(128, 64).webp())],
  [
    'PNG with 16 bits',
    'image/png',
    'sharp',
    () => write('16.png', red(128, 64).toColourspace('rgb16').png()),
  ],
])('%s becomes a JPEG with the same colours', async (_, type, decoder, make) => {
  const input = await make();
  expect(await sniffed(input)).toBe(type);
  expect(await convert(input, decoder)).toMatchObject({
    width: 128,
    height: 64,
    converted: true,
    mimetype: 'image/jpeg',
  });
  expect(await sharp(output).metadata()).toMatchObject({
    format: 'jpeg',
    space: 'srgb',
    channels: 3,
    depth: 'uchar',
  });
  await isRed(64, 32);
});

test.each<[string, () => Promise<string>]>([
  ['PNG', () => write('clear.png', half().png())],
  ['PNG with a palette', () => write('palette.png', half().png({ palette: true }))],
  ['WebP', () => write('clear.webp', half().webp())],
  ['TIFF', () => write('clear.tiff', half().tiff({ compression: 'lzw' }))],
])('a transparent %s is white behind', async (_, make) => {
  await convert(await make());
  await isRed(10, 30);
  expect(Math.min(...(await pixelOf(output, 50, 30)))).toBeGreaterThan(250);
});

test.each<[string, (picture: Sharp) => Sharp]>([
  ['JPEG', (picture) => picture.jpeg()],
  ['progressive JPEG', (picture) => picture.jpeg({ progressive: true })],
  ['PNG', (picture) => picture.png()],
  ['PNG with a palette', (picture) => picture.png({ palette: true })],
])('a plain %s stays as it is', async (name, encode) => {
  const answer = await convert(await write(`plain-${name}`, encode(red())));
  expect(answer).toEqual({ width: 60, height: 40, thumbnail: expect.any(String) as string });
});

const PLACE = { IFD0: { Make: 'Phone' }, IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 30/1 0/1' } };
test.each(['jpg', 'png'])('loses its place and camera data: %s', async (format) => {
  const input = await write(`place.${format}`, red().withExif(PLACE));
  expect(readFileSync(input).includes('Phone')).toBe(true);
  expect(await convert(input)).toMatchObject({ converted: true });
  expect(readFileSync(output).includes('Phone')).toBe(false);
  expect((await sharp(output).metadata()).exif).toBeUndefined();
});

test.each([3, 6, 8])('is upright with the EXIF orientation %i', async (orientation) => {
  const input = await write(`turned${orientation}.jpg`, red().withMetadata({ orientation }));
  const [width, height] = orientation === 3 ? [60, 40] : [40, 60];
  expect(await convert(input)).toMatchObject({ width, height, converted: true });
  expect(await sharp(output).metadata()).toMatchObject({ width, height });
});

test('an animated PNG shows its picture', async () => {
  const input = samples.make('moves.apng', [
    '-f',
    'lavfi',
    '-i',
    'testsrc=duration=1:size=64x48:rate=5',
    '-pix_fmt',
    'rgb24',
  ]);
  expect(await sniffed(input)).toBe('image/apng');
  expect(await convert(input)).toMatchObject({ width: 64, height: 48 });
});

test('of too many pixels is refused with its size', async () => {
  const input = await write('large.png', red(8_000, 7_000).png({ compressionLevel: 1 }));
  await expect(convert(input)).rejects.toThrow('the picture has 8000x7000 pixels, more than 50,000,000');
});

describe('a sticker', () => {
  const sticker = (
    input: string,
    plan: Omit<StickerPlan, 'tool'> = { decoder: 'sharp' },
  ): Promise<ToolAnswer> =>
    tools.run(
      { tool: 'sticker', ...plan, input, output } as StickerPlan & { input: string; output: string },
      folder,
      within(),
    );
  const frames = (count: number, side = 100) =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        sharp({ create: { width: side, height: side, channels: 4, background: i % 2 ? 'red' : 'blue' } })
          .png()
          .toBuffer(),
      ),
    );
  const animation = async (count = 2, side = 100) =>
    sharp(await frames(count, side), { join: { animated: true } });
  const film = (name: string, codec: string[], seconds = 1) =>
    samples.make(name, ['-f', 'lavfi', '-i', `testsrc=duration=${seconds}:size=320x180:rate=10`, ...codec]);

  test.each<[string, () => Promise<string>]>([
    ['a still one', () => write('still.webp', red(512, 512).webp())],
    ['an animated one', async () => write('moving.webp', (await animation(2, 512)).webp())],
  ])('that is right already stays: %s', async (_, make) => {
    expect((await sticker(await make())).converted).toBeUndefined();
  });

  test.each<[string, () => string | Promise<string>, Omit<StickerPlan, 'tool'>]>([
    ['JPEG', () => write('s.jpg', red()), { decoder: 'sharp' }],
    ['PNG', () => write('s.png', half()), { decoder: 'sharp' }],
    ['WebP', () => write('s.webp', red(512, 511)), { decoder: 'sharp' }],
    ['HEIC', () => makeHeic(samples, 's.heic', 128, 64), { decoder: 'heic' }],
    [
      'BMP',
      () => samples.make('s.bmp', ['-f', 'lavfi', '-i', 'color=red:size=64x32', '-frames:v', '1']),
      { decoder: 'bmp' },
    ],
  ])('is made of %s', async (_, make, plan) => {
    expect(await sticker(await make(), plan)).toEqual({
      width: 512,
      height: 512,
      animated: false,
      converted: true,
      mimetype: 'image/webp',
    });
    expect(await sharp(output).metadata()).toMatchObject({
      format: 'webp',
      width: 512,
      height: 512,
      hasAlpha: true,
    });
    expect(statSync(output).size).toBeLessThanOrEqual(100_000);
  });

  test('of a wide picture is clear above and below', async () => {
    await sticker(await write('wide.png', red(100, 50)));
    expect((await pixelOf(output, 256, 10))[3]).toBe(0);
    await isRed(256, 256);
  });

  test('of a noisy picture has at most 100 kB', async () => {
    const input = await samples.picture('noise.png', 1_000, 1_000);
    await sticker(input);
    expect(statSync(output).size).toBeLessThanOrEqual(100_000);
  });

  test.each<[string, () => string | Promise<string>, Omit<StickerPlan, 'tool'>]>([
    [
      'a GIF',
      async () => write('m.gif', (await animation()).gif()),
      { decoder: 'ffmpeg', container: 'gif' } as StickerPlan,
    ],
    ['an animated WebP', async () => write('m.webp', (await animation()).webp()), { decoder: 'sharp' }],
    [
      'MP4',
      () => film('m.mp4', ['-pix_fmt', 'yuv420p']),
      { decoder: 'ffmpeg', container: 'mov' } as StickerPlan,
    ],
    ['WebM', () => film('m.webm', []), { decoder: 'ffmpeg', container: 'matroska' } as StickerPlan],
  ])('that moves is made of %s', async (_, make, plan) => {
    expect(await sticker(await make(), plan)).toMatchObject({
      animated: true,
      converted: true,
      mimetype: 'image/webp',
    });
    const { width, pageHeight, pages, loop } = await sharp(output, { animated: true }).metadata();
    expect([width, pageHeight, loop]).toEqual([512, 512, 0]);
    expect(pages).toBeGreaterThan(1);
    expect(statSync(output).size).toBeLessThanOrEqual(500_000);
  });

  test('has at most 10 s of a film', async () => {
    await sticker(film('long.mp4', ['-pix_fmt', 'yuv420p'], 14), {
      decoder: 'ffmpeg',
      container: 'mov',
    } as StickerPlan);
    const { delay } = await sharp(output, { animated: true }).metadata();
    const total = delay!.reduce((sum, ms) => sum + ms);
    expect(total).toBeGreaterThan(9_000);
    expect(total).toBeLessThanOrEqual(10_100);
  });
});
