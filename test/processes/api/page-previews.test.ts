import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import sharp, { type Sharp } from 'sharp';
import type { MediaFiles } from '@gwk/api/media/files';
import { DecoderQueue } from '@gwk/api/media/prepare/decoder-queue';
import type { Fetcher } from '@gwk/api/media/prepare/fetcher';
import { buildPreview } from '@gwk/api/media/prepare/preview';
import { openTools } from '../../support/api/tools.js';
import { watchTurns } from '../../support/turns.js';
import { pause, realTime } from '../../support/wait.js';

const folder = mkdtempSync(join(tmpdir(), 'gwk-pages-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const tools = openTools({ timeMs: realTime(60_000), memoryMb: 1024, concurrency: 2, ffmpeg: null });
/** Stored files. */
const stored: Buffer[] = [];
const files = {
  receive: async (source: Readable) => ({ bytes: await buffer(source) }),
  keep: ({ bytes }: { bytes: Buffer }) => {
    stored.push(bytes);
    return Promise.resolve({ id: 'file', sha256: createHash('sha256').update(bytes).digest() });
  },
} as unknown as MediaFiles;
const decoders = new DecoderQueue({ decoders: 2 });
const deps = { tools, decoders, files, folder, accountId: 'a', message: randomUUID() };
const NEVER = new AbortController().signal;
const URL_TEXT = 'https://example.org/';

/** Previews a page that arrives in pieces. */
function preview(html: string | Buffer, pieceBytes: number, type = 'text/html') {
  const bytes = Buffer.from(html);
  const pieces = Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, i) =>
    bytes.subarray(i * pieceBytes, (i + 1) * pieceBytes),
  );
  const page = { body: Readable.from(pieces), type, name: null, url: new URL(URL_TEXT) };
  const fetcher = { fetch: () => Promise.resolve(page) } as unknown as Fetcher;
  return buildPreview(URL_TEXT, { ...deps, fetcher }, NEVER, realTime(60_000));
}

test('reads title and description of a page', async () => {
  const html = '<title>A</title><meta name="description" content="B"><body>';
  expect(await preview(html, 16)).toEqual({ url: URL_TEXT, title: 'A', description: 'B', thumbnail: null });
});

test.each<[string, string]>([
  ['text/html; charset=Shift_JIS', ''],
  ['text/html;charset="shift_jis"', ''],
  ['Text/HTML; Charset=windows-31j', ''],
  ['application/xhtml+xml', '<?xml version="1.0" encoding="Shift_JIS"?>'],
  ['text/html', '<meta charset="shift_jis">'],
])('reads a page in its encoding: %s %s', async (type, head) => {
  const title = Buffer.from('93fa967b8cea', 'hex');
  const page = Buffer.concat([Buffer.from(`${head}<title>`), title, Buffer.from('</title><body>')]);
  expect(await preview(page, 16, type)).toMatchObject({ title: '日本語' });
});

const red = (width: number, height: number, channels: 3 | 4 = 3) =>
  sharp({ create: { width, height, channels, background: channels === 4 ? '#ff000000' : 'red' } });

/** Previews a page with a picture, which a host serves at https://example.org/a/b. */
async function previewOf(picture: Buffer | null, image = '/a/b') {
  const html = `<title>A</title><meta property="og:image" content="${image}">`;
  const fetcher = {
    fetch: (url: string) => {
      if (url === URL_TEXT)
        return Promise.resolve({
          body: Readable.from([Buffer.from(html)]),
          type: 'text/html',
          url: new URL(url),
        });
      if (url !== 'https://example.org/a/b' || picture === null)
        return Promise.reject(new Error('forbidden'));
      return Promise.resolve({ body: Readable.from([picture]) });
    },
  } as unknown as Fetcher;
  stored.length = 0;
  const preview = await buildPreview(URL_TEXT, { ...deps, fetcher }, NEVER, realTime(60_000));
  const { thumbnail, picture: large } = preview!;
  return { small: thumbnail === null ? null : await sizeOf(Buffer.from(thumbnail, 'base64')), large };
}
const sizeOf = async (bytes: Buffer) => {
  const { format, width, height } = await sharp(bytes).metadata();
  return `${format} ${width}x${height}`;
};

test.each<[string, Sharp, string, [number, number] | null]>([
  ['a large JPEG', red(2_400, 1_250).jpeg(), 'jpeg 192x100', [1_200, 625]],
  ['a high PNG', red(600, 2_400, 4).png(), 'jpeg 48x192', [300, 1_200]],
  ['WebP', red(600, 300).webp(), 'jpeg 192x96', [600, 300]],
  ['AVIF', red(600, 300).avif(), 'jpeg 192x96', [600, 300]],
  ['CMYK', red(600, 300).toColourspace('cmyk').jpeg(), 'jpeg 192x96', [600, 300]],
  ['a turned JPEG', red(600, 300).jpeg().withMetadata({ orientation: 6 }), 'jpeg 96x192', [300, 600]],
  ['a GIF', red(600, 300).gif(), 'jpeg 192x96', [600, 300]],
  ['a small PNG', red(192, 100).png(), 'jpeg 192x100', null],
])('makes two pictures of the picture of a page: %s', async (_, picture, small, large) => {
  const found = await previewOf(await picture.toBuffer());
  expect(found.small).toBe(small);
  if (large === null) return expect([found.large, stored]).toEqual([undefined, []]);
  const [width, height] = large;
  const sha256 = createHash('sha256').update(stored[0]!).digest('hex');
  expect(found.large).toEqual({ file: 'file', sha256, width, height });
  expect(await sizeOf(stored[0]!)).toBe(`jpeg ${width}x${height}`);
  expect((await sharp(stored[0]).stats()).channels).toHaveLength(3);
});

test.each(['/a/b', '../a/b', 'a/b', '//example.org/a/b', 'https://EXAMPLE.org/a/b'])(
  'fetches the picture of a page by the URL %j',
  async (image) => {
    expect((await previewOf(await red(20, 10).png().toBuffer(), image)).small).toBe('jpeg 20x10');
  },
);

test.each<[string, () => Buffer | null, string]>([
  ['cannot be fetched', () => null, '/a/b'],
  ['has no URL', () => null, 'http://'],
  ['is data in the page', () => null, 'data:image/png;base64,AAAA'],
  ['is SVG', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'), '/a/b'],
  ['is larger than 5 MB', () => Buffer.alloc(5_000_001), '/a/b'],
  ['is a page', () => Buffer.from('<title>404</title>'), '/a/b'],
])('a preview has no picture if it %s', async (_, picture, image) => {
  expect(await previewOf(picture(), image)).toEqual({ small: null, large: undefined });
});

/** Longest turn of the event loop, the least of three runs: a garbage collection lengthens a turn too. */
async function longestTurnMs(run: () => Promise<unknown>): Promise<number> {
  const longest: number[] = [];
  for (let i = 0; i < 3; i++) {
    const turns = [0];
    const timer = watchTurns(1, (ms) => turns.push(ms));
    await run();
    await pause(5);
    clearInterval(timer);
    longest.push(Math.max(...turns));
  }
  return Math.min(...longest);
}

test.each<[string, string, number]>([
  ['nested titles in 64 kB pieces', '<svg><title>'.repeat(20_000), 65_536],
  ['unfinished tags in 16 byte pieces', `<title>${'</title'.repeat(70_000)}`, 16],
  ['unfinished heads in 16 byte pieces', '</hea'.repeat(100_000), 16],
])('the event loop stays free while a page is read: %s', async (_, html, pieceBytes) => {
  await preview('<title>A</title>', 16);
  expect(await longestTurnMs(() => preview(html, pieceBytes))).toBeLessThan(50);
});
