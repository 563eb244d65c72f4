import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rawInput } from '@gwk/decoder/ffmpeg-input';
import { CONTAINERS, DECODERS, RAW } from '@gwk/core/decoder/formats';
import { findFault } from '@gwk/core/process/ffmpeg';
import sharp from 'sharp';
import { Samples } from '../support/api/samples.js';
import { ImageBuilder } from '../support/images/builder.js';
import { copyContents } from '../support/images/folders.js';
import { listUnlicensed, runInImage } from '../support/images/programs.js';
import { ROOT } from '../support/program.js';

/** The image's ffmpeg comes from Debian 13, which gets security updates. */
const MINIMUM = [7, 1, 5];

let folder: string;
let root: string;
/** The files that the stage of the decoder adds to the runtime image. */
let layer: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gwk-image-'));
  root = join(folder, 'image');
  const { layers } = await new ImageBuilder(join(folder, 'stages')).build('decoder');
  for (const each of layers) copyContents(each, root);
  layer = layers.at(-1)!;
  mkdirSync(join(root, 'tmp'), { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ffmpeg = (...args: string[]): string => runInImage(root, ['/usr/bin/ffmpeg', '-v', 'error', ...args]);

/** Names in a list of ffmpeg, after its legend. */
function listNames(option: string): string[] {
  const lines = ffmpeg('-hide_banner', option).split(/^ -+$/m)[1]!;
  return [...lines.matchAll(/^ [A-Z.]+ +(\S+) /gm)].map(([, name]) => name!).sort();
}

test('contains a current ffmpeg', () => {
  const banner = runInImage(root, ['/usr/bin/ffmpeg', '-version']);
  const [, ...version] = /^ffmpeg version (\d+)\.(\d+)\.(\d+)-/.exec(banner)!.map(Number);
  const isOlder = version.findIndex((part, at) => part !== MINIMUM[at]);
  expect(isOlder < 0 || version[isOlder]! > MINIMUM[isOlder]!).toBe(true);
  expect(findFault(banner + ffmpeg('-encoders'))).toBeNull();
});

/** Theora is VP3 with other headers. */
const PARTS = ['vp3'];

test('its ffmpeg decodes the formats that the worker accepts, and no others', () => {
  expect(listNames('-decoders').filter((name) => !PARTS.includes(name))).toEqual([...DECODERS, RAW].sort());
  const demuxers = listNames('-demuxers').map((names) => names.split(',')[0]!);
  expect(Object.values(CONTAINERS).filter((name) => !demuxers.includes(name))).toEqual([]);
  const unused = demuxers.filter((name) => !Object.values(CONTAINERS).includes(name));
  expect(unused).toEqual(['ac3', 'mpegvideo', RAW]);
  expect(ffmpeg('-hide_banner', '-protocols').match(/\w+$/gm)).toEqual(['file', 'pipe', 'file', 'pipe']);
});

const RATE = 48_000;

/** One second of a tone. */
function makeWav(): Buffer {
  const wav = Buffer.alloc(44 + 2 * RATE);
  wav.write('RIFF');
  wav.writeUInt32LE(36 + 2 * RATE, 4);
  wav.write('WAVEfmt ', 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(RATE, 24);
  wav.writeUInt32LE(2 * RATE, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36);
  wav.writeUInt32LE(2 * RATE, 40);
  for (let at = 0; at < RATE; at++) wav.writeInt16LE(Math.round(9000 * Math.sin(at / 20)), 44 + 2 * at);
  return wav;
}

test.each([
  ['mp4', 'mov'],
  ['webm', 'matroska'],
  ['avi', 'avi'],
  ['ogv', 'ogg'],
  ['mpeg', 'mpeg'],
  ['wmv', 'asf'],
])('its ffmpeg decodes picture and sound of a video in %s', (extension, format) => {
  const file = `tmp/film.${extension}`;
  copyFileSync(new Samples(folder).film(`film.${extension}`, 1), join(root, file));
  const input = ['-y', '-f', format, '-format_whitelist', format, '-i', `/${file}`];
  ffmpeg(...input, '-map', '0:v:0', '-frames:v', '1', '/tmp/film.mjpeg', '-map', '0:a:0', '/tmp/film.m4a');
  expect(statSync(join(root, 'tmp/film.m4a')).size).toBeGreaterThan(5000);
});

test('its ffmpeg encodes Opus, AAC and H.264', async () => {
  writeFileSync(join(root, 'tmp/a.wav'), makeWav());
  const picture = { width: 64, height: 64, channels: 3, background: 'red' } as const;
  writeFileSync(join(root, 'tmp/a.gif'), await sharp({ create: picture }).gif().toBuffer());
  ffmpeg('-i', '/tmp/a.wav', '-c:a', 'libopus', '/tmp/a.ogg');
  ffmpeg('-i', '/tmp/a.wav', '-c:a', 'aac', '-f', 'ipod', '/tmp/a.m4a');
  ffmpeg('-i', '/tmp/a.gif', '-c:v', 'libx264', '-pix_fmt', 'yuv420p', '/tmp/a.mp4');
  const read = (name: string) => readFileSync(join(root, 'tmp', name), 'latin1');
  expect(read('a.ogg')).toContain('OpusHead');
  expect(read('a.m4a')).toContain('mp4a');
  expect(read('a.mp4')).toContain('avc1');
  for (const name of ['a.ogg', 'a.m4a']) ffmpeg('-i', `/tmp/${name}`, '-y', '/tmp/decoded.m4a');
  ffmpeg('-i', '/tmp/a.mp4', '-frames:v', '1', '/tmp/decoded.mjpeg');
});

test('its ffmpeg makes a film of the pictures of an animated WebP', () => {
  const input = [...rawInput({ width: 64, height: 64 }, 10), '-i', '/tmp/a.rgb'];
  writeFileSync(join(root, 'tmp/a.rgb'), Buffer.alloc(2 * 64 * 64 * 3, 200));
  ffmpeg(...input, '-c:v', 'libx264', '-pix_fmt', 'yuv420p', '/tmp/moves.mp4');
  expect(readFileSync(join(root, 'tmp/moves.mp4'), 'latin1')).toContain('avc1');
  ffmpeg('-i', '/tmp/moves.mp4', '-frames:v', '1', '-y', '/tmp/decoded.mjpeg');
});

test('contains what limits a decoder', () => {
  expect(runInImage(root, ['/bin/sh', '-c', 'ulimit -c 0; exec env -i /bin/sh -c "echo ok"'])).toBe('ok\n');
  const help = runInImage(root, ['/usr/bin/setpriv', '--help']);
  for (const option of ['--no-new-privs', '--landlock-access', '--seccomp-filter'])
    expect(help).toContain(option);
});

test('names the package and the licence of each program and library', () => {
  expect(listUnlicensed(layer)).toEqual([]);
  const names = readdirSync(join(layer, 'usr/share/doc')).filter((name) => name !== 'gwk-decoder');
  expect(names).toEqual(expect.arrayContaining(['coreutils', 'dash', 'ffmpeg', 'libopus0', 'libx264-164']));
  const sources = readFileSync(join(layer, 'usr/share/doc/gwk-decoder/debian-sources'), 'utf8').trim();
  expect(sources.split('\n').map((line) => line.split(' ')[0])).toEqual(names.sort());
  for (const line of sources.split('\n')) expect(line).toMatch(/^\S+ \S+ \S+ \S+$/);
  for (const text of ['GPL-2', 'GPL-3', 'LGPL-2.1'])
    expect(statSync(join(layer, 'usr/share/common-licenses', text)).size).toBeGreaterThan(10_000);
});

test('names the licence and the version of libvips', () => {
  const packages = readdirSync(join(layer, 'app/node_modules/@img'));
  const libvips = packages.filter((name) => name.startsWith('sharp-libvips-'));
  expect(libvips).toHaveLength(1);
  const read = (file: string) =>
    readFileSync(join(layer, 'app/node_modules/@img', libvips[0]!, file), 'utf8');
  expect(read('README.md')).toContain('LGPL');
  const { vips } = JSON.parse(read('versions.json')) as { vips: string };
  const docs = readFileSync(join(ROOT, 'docs/media.md'), 'utf8');
  expect(docs).toContain(`libvips ${vips.split('.').slice(0, 2).join('.')}.`);
});
