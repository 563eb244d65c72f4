import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import { findFfmpeg } from '@gwk/core/process/ffmpeg';
import { createLogger } from '@gwk/core/process/log';
import { decoderJobs } from '@gwk/api/media/prepare/decoder-client';
import { startDecoderServer } from '@gwk/decoder/server';
import type { PictureDecoder, ToolPlan } from '@gwk/core/decoder/jobs';
import { realTime, until } from '../../support/wait.js';
import { makeHevc, writeHeic, type HeicItem } from '../../support/api/heic.js';
import * as hostile from '../../support/api/hostile-files.js';
import { Samples } from '../../support/api/samples.js';

/** A hostile file must cause nothing but an answer, and must not reveal the secret beside it. One decoder gets all. */
const folder = mkdtempSync(join(tmpdir(), 'gwk-hostile-files-'));
const samples = new Samples(folder);
const jobs = mkdtempSync(join(folder, 'jobs-'));
const socket = join(folder, 'decoder.sock');
const ffmpeg = findFfmpeg(undefined);
let server: Server;
beforeAll(async () => {
  const isolation = { kind: 'none', user: null, prefix: () => [] } as const;
  const log = createLogger('test', 'error');
  server = await startDecoderServer({ socket, folder: jobs, ffmpeg, isolation, log });
});
afterAll(() => {
  server.close().closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
});

const run = decoderJobs(socket, () => ({ timeMs: realTime(60_000), memoryMb: 1_024 }));
/** The reason of a refusal; else the size that phones show, or the duration of a sound. */
async function outcome(plan: ToolPlan, input: string): Promise<string> {
  const output = samples.path('output');
  rmSync(output, { force: true });
  const answer = await run({ ...plan, input, output }, folder, AbortSignal.timeout(realTime(120_000))).catch(
    (error: Error) => ({ refused: `${error.name}: ${error.message}` }),
  );
  if ('refused' in answer) return answer.refused;
  if ('notRun' in answer) return `not run: ${answer.notRun}`;
  return `${answer.width}x${answer.height} ${answer.duration_s ?? ''}`.trim();
}

function write(name: string, content: Buffer | string): string {
  writeFileSync(samples.path(name), content);
  return samples.path(name);
}
const half = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length >> 1);
const image = (decoder: PictureDecoder = 'sharp'): ToolPlan => ({ tool: 'image', decoder });
const video = (container: string): ToolPlan => ({ tool: 'video', container });
const voice = (container: string): ToolPlan => ({ tool: 'audio', container, voice: true, film: false });
const sticker = (container: string): ToolPlan => ({ tool: 'sticker', decoder: 'ffmpeg', container });

const undecodable = 'the file cannot be decoded';
const noPicture = 'the picture cannot be decoded';
const noVideo = 'the file has no video';
const tooLong = 'the video is longer than 3 hours';
const tooLarge = (side: number, kind = 'picture') =>
  `the ${kind} has ${side}x${side} pixels, more than 50,000,000`;
const tooCostly = (pictures: number) =>
  `the animation has ${pictures} pictures of 5000x5000 pixels, more than 2,000,000,000`;

type Case = [string, ToolPlan, () => Buffer | string | Promise<Buffer>, string];
const isAnswered = async (...[, plan, make, expected]: Case): Promise<void> => {
  expect(await outcome(plan, write('hostile', await make()))).toBe(expected);
};
afterEach(() => until(() => readdirSync(jobs).length === 0, { what: 'the folder of the job is removed' }));

/** A PNG of 30000x30000 pixels in about 100 bytes. It would decode to 2.7 GB. */
async function bombOfPixels(): Promise<Buffer> {
  const { data: small } = await sharp({ create: { width: 1, height: 1, channels: 3, background: 'black' } })
    .png()
    .toBuffer({ resolveWithObject: true });
  const at = small.indexOf('IHDR');
  small.writeUInt32BE(30_000, at + 4);
  small.writeUInt32BE(30_000, at + 8);
  small.writeUInt32BE(crc32(small.subarray(at, at + 17)), at + 17);
  return small;
}

const secret = write('secret.txt', 'the secret');
const playlist = `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://${secret}\n#EXT-X-ENDLIST\n`;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9"><image xlink:href="file://${secret}" width="9" height="9"/></svg>`;
const silent = () => readFileSync(samples.picturesWith('silent.mp4', 'mp4', ['-pix_fmt', 'yuv420p']));
const noise = async () => readFileSync(await samples.picture('whole.jpg', 800, 800));

test.each<Case>([
  ['a playlist named like a video', voice('mov'), () => playlist, undecodable],
  ['a playlist named like audio', voice('mp3'), () => playlist, undecodable],
  ['an ffconcat script', voice('wav'), () => `ffconcat version 1.0\nfile ${secret}\n`, undecodable],
  ['SVG named like an image', image(), () => svg, noPicture],
  ['an image of 900 megapixels', image(), bombOfPixels, tooLarge(30_000)],
  ['a ZIP named like an image', image(), () => Buffer.from('504b0304', 'hex'), noPicture],
  ['a video named like audio', voice('mp3'), () => readFileSync(samples.film('y.webm')), undecodable],
  ['a truncated image', image(), async () => half(await noise()), noPicture],
  [
    'a truncated video',
    voice('mov'),
    () => readFileSync(samples.film('w.mp4')).subarray(0, 900),
    undecodable,
  ],
  ['an empty file', image(), () => '', noPicture],
  ['a video without audio as audio', voice('mov'), silent, 'the file has no audio'],
])('is refused: %s', isAnswered);

/** Real files whose codecs are not of the list. Each was decoded before the list. */
test.each<[string, string, string[]]>([
  ['EXR in Matroska', 'matroska', ['-c:v', 'exr', '-pix_fmt', 'gbrpf32le']],
  ['TIFF in Matroska', 'matroska', ['-c:v', 'tiff', '-allow_raw_vfw', '1']],
  ['MagicYUV in AVI', 'avi', ['-c:v', 'magicyuv']],
  ['Snow in AVI', 'avi', ['-c:v', 'snow', '-strict', '-2']],
])('is refused: %s', async (name, container, codec) => {
  const input = samples.picturesWith(`${name.replaceAll(' ', '-')}.${container}`, container, codec);
  expect(await outcome(video(container), input)).toBe(undecodable);
});

describe('HEIC', () => {
  const heic = (...items: HeicItem[]) => readFileSync(writeHeic(samples.path('items'), items));
  const picture = (side = 128) => makeHevc(samples, `hevc-${side}`, side, side);
  const sized = (size: number) => ({ width: size, height: size });
  const tiled = (data: Buffer, uses: number[]) => ({ id: 1, type: 'grid', data, uses, ...sized(256) });

  test.each<Case>([
    ['a truncated picture', image('heic'), () => half(heic({ id: 1, ...picture() })), noPicture],
    [
      'a stated size of 3.6 gigapixels',
      image('heic'),
      () => heic({ id: 1, ...picture(), ...sized(60_000) }),
      tooLarge(60_000),
    ],
    [
      'a stated size that the picture does not have',
      image('heic'),
      () => heic({ id: 1, ...picture(), ...sized(7_000) }),
      noPicture,
    ],
    [
      'more pixels than stated',
      image('heic'),
      () => heic({ id: 1, ...picture(4_096), ...sized(16) }),
      noPicture,
    ],
    [
      'a grid that contains itself',
      image('heic'),
      () => heic(tiled(hostile.grid(1, 1, 256, 256), [1])),
      noPicture,
    ],
    [
      'nested overlays of a billion pictures',
      image('heic'),
      () => heic(...hostile.overlays(30, picture())),
      noPicture,
    ],
  ])('with %s is refused', isAnswered);

  test('of several tiles is one picture', async () => {
    const tiles = [2, 3, 4, 5].map((id) => ({ id, ...picture() }));
    const input = write('grid', heic(tiled(hostile.grid(2, 2, 256, 256), [2, 3, 4, 5]), ...tiles));
    expect(await outcome(image('heic'), input)).toBe('256x256');
  });
});

test.each<Case>([
  ['truncated', image(), () => hostile.tiff({ width: 700, height: 700 }, 100_000), noPicture],
  ['of 10 gigapixels', image(), () => hostile.tiff({ width: 100_000, height: 100_000 }), tooLarge(100_000)],
  [
    'with tiles of an exapixel',
    image(),
    () =>
      hostile.tiff({ width: 9, height: 9, tileWidth: 2 ** 30, tileHeight: 2 ** 30, tile: 8, tileBytes: 9 }),
    noPicture,
  ],
  [
    'of 60,000 colours',
    image(),
    () => hostile.tiff({ width: 7_000, height: 7_000, samples: 60_000 }),
    noPicture,
  ],
  [
    'whose pages repeat for ever',
    image(),
    () => hostile.tiff({ width: 9, height: 9 }, 81, hostile.TIFF_START),
    '9x9',
  ],
])('answers a TIFF %s', isAnswered);

const bmp = (width: number, height: number): Buffer => {
  const source = ['-f', 'lavfi', '-i', 'color=red:size=128x64', '-frames:v', '1'];
  const bytes = readFileSync(samples.make('a.bmp', source));
  bytes.writeInt32LE(width, 18);
  bytes.writeInt32LE(height, 22);
  return bytes;
};
test.each<Case>([
  ['a truncated one', image('bmp'), () => half(bmp(128, 64)), undecodable],
  ['one of 900 megapixels', image('bmp'), () => bmp(30_000, 30_000), tooLarge(30_000)],
  ['one with fewer pixels than stated', image('bmp'), () => bmp(7_000, 7_000), undecodable],
  ['one without pixels', image('bmp'), () => bmp(0, 0), noPicture],
  ['a run of pixels for 49 megapixels', image('bmp'), () => hostile.runLengthBmp(7_000, 7_000), '7000x7000'],
])('answers a BMP: %s', isAnswered);

const moving = async (): Promise<Buffer> => {
  const frames = ['red', 'blue', 'lime'].map((background) =>
    sharp({ create: { width: 100, height: 80, channels: 4, background } })
      .png()
      .toBuffer(),
  );
  return sharp(await Promise.all(frames), { join: { animated: true } })
    .webp()
    .toBuffer();
};
const webp: ToolPlan = { tool: 'webp', film: false };
const pictureSticker: ToolPlan = { tool: 'sticker', decoder: 'sharp' };
test.each<Case>([
  ['truncated', image(), async () => half(await moving()), noPicture],
  ['truncated', pictureSticker, async () => half(await moving()), noPicture],
  ['of 256 megapixels', image(), async () => hostile.resizeWebp(await moving(), 16_000), tooLarge(16_000)],
  ['truncated', webp, async () => half(await moving()), noPicture],
  ['of 256 megapixels', webp, async () => hostile.resizeWebp(await moving(), 16_000), tooLarge(16_000)],
  [
    'of three times 49 megapixels',
    pictureSticker,
    async () => hostile.resizeWebp(await moving(), 7_000),
    'the sticker has 3 pictures of 7000x7000 pixels, more than 50,000,000',
  ],
])('refuses an animated WebP %s', isAnswered);

test.each<Case>([
  ['of 4 gigapixels', { tool: 'gif' }, () => hostile.gif(65_535, 65_535, 3, 9), tooLarge(65_535, 'video')],
  ['of 4 gigapixels', video('gif'), () => hostile.gif(65_535, 65_535, 3, 9), tooLarge(65_535, 'video')],
  ['of 4 gigapixels', sticker('gif'), () => hostile.gif(65_535, 65_535, 3, 9), tooLarge(65_535, 'video')],
  ['that lasts 75 days', { tool: 'gif' }, () => hostile.gif(20, 20, 10_000, 65_535), tooLong],
  ['that lasts 75 days', video('gif'), () => hostile.gif(20, 20, 10_000, 65_535), tooLong],
  ['that lasts 75 days', sticker('gif'), () => hostile.gif(20, 20, 10_000, 65_535), '512x512'],
  [
    'of 500 gigapixels in 460 kB',
    { tool: 'gif' },
    () => hostile.gif(5_000, 5_000, 20_000, 10),
    tooCostly(20_000),
  ],
  [
    'of 500 gigapixels in 460 kB',
    video('gif'),
    () => hostile.gif(5_000, 5_000, 20_000, 10),
    tooCostly(20_000),
  ],
  ['of 2.5 gigapixels in 10 s', sticker('gif'), () => hostile.gif(5_000, 5_000, 20_000, 1), tooCostly(100)],
])('answers a GIF %s: %j', isAnswered);

const FORMATS: Readonly<Record<string, string[]>> = {
  avi: ['-c:v', 'mpeg4'],
  flv: ['-c:v', 'flv'],
  ts: ['-c:v', 'mpeg4'],
};
const film = (format: keyof typeof FORMATS): Buffer =>
  readFileSync(
    samples.make(`film.${format}`, [
      ...['-f', 'lavfi', '-i', 'testsrc=duration=2:size=320x240:rate=10', ...FORMATS[format]!],
    ]),
  );
test.each<Case>([
  ['an AVI, cut in its head', video('avi'), () => film('avi').subarray(0, 300), undecodable],
  ['an FLV, cut in its head', video('flv'), () => film('flv').subarray(0, 100), undecodable],
  ['a transport stream, cut in its head', video('mpegts'), () => film('ts').subarray(0, 300), undecodable],
  ['half an AVI', video('avi'), () => half(film('avi')), '320x240 1'],
  ['half an FLV', video('flv'), () => half(film('flv')), '320x240 1'],
  ['half a transport stream', video('mpegts'), () => half(film('ts')), '320x240 1'],
  ['an AVI of 100,000 lists in lists', video('avi'), () => hostile.nestAvi(100_000), undecodable],
  ['an AVI with a frame each day', video('avi'), () => hostile.slowAvi(film('avi'), 86_400, 20), tooLong],
  ['an AVI with a frame each day', sticker('avi'), () => hostile.slowAvi(film('avi'), 86_400, 20), '512x512'],
  [
    'an FLV of a million objects in objects',
    video('flv'),
    () => hostile.nestFlv(film('flv'), 1_000_000),
    '320x240 2',
  ],
  [
    '10,000 tables of a transport stream',
    video('mpegts'),
    () => hostile.tablesOnly(film('ts'), 10_000),
    noVideo,
  ],
])('answers %s: %j', isAnswered);

test('decodes the next file', async () => {
  expect(await outcome(image(), await samples.picture('next.png', 10, 10))).toBe('10x10');
  expect(await outcome(video('avi'), write('next.avi', film('avi')))).toBe('320x240 2');
});
