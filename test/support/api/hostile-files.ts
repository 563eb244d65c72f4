import { u16, u32, type HeicItem } from './heic.js';

const l16 = (value: number): Buffer => Buffer.from([value & 0xff, value >> 8]);
const l32 = (value: number): Buffer => Buffer.concat([l16(value & 0xffff), l16(value >>> 16)]);

const LONG = 4;
/** Tags of TIFF. */
const TIFF = {
  width: 256,
  height: 257,
  bits: 258,
  compression: 259,
  colours: 262,
  strip: 273,
  samples: 277,
  rows: 278,
  stripBytes: 279,
  tileWidth: 322,
  tileHeight: 323,
  tile: 324,
  tileBytes: 325,
};
/** Offset of the first directory. */
export const TIFF_START = 8;

/**
 * A TIFF of one grey directory, before its pixels.
 * @param next offset of the next directory
 */
export function tiff(tags: Partial<Record<keyof typeof TIFF, number>>, pixels = 0, next = 0): Buffer {
  const plain = { bits: 8, compression: 1, colours: 1, samples: 1, ...tags };
  const { width = 1, height = 1 } = tags;
  const strip = { rows: height, strip: TIFF_START, stripBytes: Math.min(0xffffffff, width * height) };
  const all = { ...plain, ...(tags.tile === undefined && strip) };
  const entries = Object.entries(all)
    .map(([name, value]) => [TIFF[name as keyof typeof TIFF], value] as const)
    .sort(([one], [other]) => one - other)
    .map(([tag, value]) => Buffer.concat([l16(tag), l16(LONG), l32(1), l32(value)]));
  const directory = Buffer.concat([l16(entries.length), ...entries, l32(next)]);
  return Buffer.concat([Buffer.from('II*\0'), l32(TIFF_START), directory, Buffer.alloc(pixels, 99)]);
}

/** A BMP of run-length pixels: one run, then the end. */
export function runLengthBmp(width: number, height: number): Buffer {
  const file = Buffer.concat([Buffer.from('BM'), l32(1_082), l32(0), l32(1_078)]);
  const header = [l32(40), l32(width), l32(height), l16(1), l16(8), l32(1), l32(4), l32(0), l32(0)];
  const run = Buffer.from([0xff, 1, 0, 1]);
  return Buffer.concat([file, ...header, l32(256), l32(256), Buffer.alloc(1_024, 0x40), run]);
}

/** A GIF whose frames have one pixel. */
export function gif(width: number, height: number, frames: number, delay: number): Buffer {
  const palette = Buffer.from([0xf0, 0, 0, 255, 0, 0, 0, 0, 255]);
  const frame = Buffer.concat([
    ...[Buffer.from([0x21, 0xf9, 4, 4]), l16(delay), Buffer.from([0, 0])],
    ...[Buffer.from([0x2c]), l32(0), l16(1), l16(1), Buffer.from([0, 2, 2, 0x44, 1, 0])],
  ]);
  const frameList = Array<Buffer>(frames).fill(frame);
  return Buffer.concat([
    Buffer.from('GIF89a'),
    ...[l16(width), l16(height), palette],
    ...frameList,
    Buffer.from(';'),
  ]);
}

/** Changes the size of the canvas of a WebP. */
export function resizeWebp(bytes: Buffer, side: number): Buffer {
  const at = bytes.indexOf('VP8X') + 12;
  bytes.writeUIntLE(side - 1, at, 3);
  bytes.writeUIntLE(side - 1, at + 3, 3);
  return bytes;
}

/** Item of a HEIC that combines others, in rows and columns. */
export const grid = (rows: number, columns: number, width: number, height: number): Buffer =>
  Buffer.concat([Buffer.from([0, 1, rows - 1, columns - 1]), u32(width), u32(height)]);

/** Pairs of overlays that each use both overlays of the next pair: 2^depth pictures. */
export function overlays(depth: number, picture: Omit<HeicItem, 'id'>): HeicItem[] {
  const { width, height } = picture;
  const data = Buffer.concat([
    u32(0x0001ffff),
    u32(0),
    u16(0xffff),
    u32(width),
    u32(height),
    Buffer.alloc(16),
  ]);
  const use = (next: number) => ({ type: 'iovl', data, width, height, uses: [next, next + 1] });
  const pairs = Array.from({ length: depth }, (_, at) => 2 + 2 * at).flatMap((id) => [
    { id, ...use(id + 2) },
    { id: id + 1, ...use(id + 2) },
  ]);
  const last = 2 + 2 * depth;
  return [{ id: 1, ...use(2) }, ...pairs, { id: last, ...picture }, { id: last + 1, ...picture }];
}

/** Puts nested objects before the first tag of an FLV. */
export function nestFlv(bytes: Buffer, depth: number): Buffer {
  const object = Buffer.from('\x03\0\x01a', 'latin1');
  const text = Buffer.concat([
    Buffer.from('\x02\0\x0aonMetaData', 'latin1'),
    ...Array<Buffer>(depth).fill(object),
  ]);
  const tag = Buffer.concat([Buffer.from([18]), u32(text.length).subarray(1), Buffer.alloc(7), text]);
  return Buffer.concat([bytes.subarray(0, 13), tag, u32(tag.length), bytes.subarray(13)]);
}

/** An AVI of lists that each contain the next. */
export function nestAvi(depth: number): Buffer {
  const list = Buffer.concat([Buffer.from('LIST'), l32(0x7fffffff), Buffer.from('hdrl')]);
  const head = Buffer.concat([Buffer.from('RIFF'), l32(0x7fffffff), Buffer.from('AVI ')]);
  return Buffer.concat([head, ...Array<Buffer>(depth).fill(list)]);
}

/** Changes the time between the frames of an AVI. */
export function slowAvi(bytes: Buffer, seconds: number, frames: number): Buffer {
  const at = bytes.indexOf('strh') + 8;
  bytes.writeUInt32LE(seconds, at + 20);
  bytes.writeUInt32LE(1, at + 24);
  bytes.writeUInt32LE(frames, at + 32);
  return bytes;
}

/** The tables of a transport stream, again and again, without a film. */
export const tablesOnly = (bytes: Buffer, times: number): Buffer =>
  Buffer.concat(Array<Buffer>(times).fill(bytes.subarray(188, 564)));
