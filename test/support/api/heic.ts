import { readFileSync, writeFileSync } from 'node:fs';
import type { Samples } from './samples.js';

/** An item of a HEIC: a picture, or one that is made of others. */
export interface HeicItem {
  id: number;
  /** `hvc1` is a picture, `grid` and `iovl` combine the pictures of `uses`. */
  type: string;
  data: Buffer;
  uses?: number[];
  width: number;
  height: number;
  /** Configuration of the decoder. */
  codec?: Buffer;
}

/** Creates a HEIC with the colour red, as phones write it: an HEVC picture in an ISO container. ffmpeg cannot write one. */
export function makeHeic(samples: Samples, name: string, width: number, height: number): string {
  return writeHeic(samples.path(name), [{ id: 1, ...makeHevc(samples, name, width, height) }]);
}

/** Encodes a red picture. */
export function makeHevc(samples: Samples, name: string, width: number, height: number) {
  const x265 = ['-c:v', 'libx265', '-x265-params', 'log-level=none', '-preset', 'ultrafast'];
  const source = `color=red:duration=1:size=${width}x${height}:rate=1`;
  const codec = [...x265, '-pix_fmt', 'yuv420p', '-tag:v', 'hvc1', '-frames:v', '1'];
  const film = readFileSync(samples.make(`${name}.mp4`, ['-f', 'lavfi', '-i', source, ...codec]));
  const data = findBox(film, 'mdat').subarray(8);
  return { type: 'hvc1', data, codec: findBox(film, 'hvcC'), width, height };
}

/** Writes items into a HEIC. The first one is shown. */
export function writeHeic(path: string, items: readonly HeicItem[]): string {
  const head = box('ftyp', Buffer.from('heic'), u32(0), Buffer.from('mif1heic'));
  const offset = head.length + describeItems(items, 0).length + 8;
  const content = box('mdat', ...items.map(({ data }) => data));
  writeFileSync(path, Buffer.concat([head, describeItems(items, offset), content]));
  return path;
}

function describeItems(items: readonly HeicItem[], offset: number): Buffer {
  let at = offset;
  const places = items.map(({ id, data }) => {
    const place = Buffer.concat([u16(id), u16(0), u16(1), u32(at), u32(data.length)]);
    at += data.length;
    return place;
  });
  const uses = items.flatMap(({ id, uses: used }) =>
    used ? [box('dimg', u16(id), u16(used.length), ...used.map(u16))] : [],
  );
  return full(
    'meta',
    full('hdlr', u32(0), Buffer.from('pict'), Buffer.alloc(13)),
    full('pitm', u16(items[0]!.id)),
    full('iloc', Buffer.from([0x44, 0]), u16(items.length), ...places),
    full('iinf', u16(items.length), ...items.map(infe)),
    ...(uses.length > 0 ? [full('iref', ...uses)] : []),
    describeProperties(items),
  );
}

function describeProperties(items: readonly HeicItem[]): Buffer {
  const all: Buffer[] = [];
  const links = items.map(({ id, width, height, codec }) => {
    const own = [full('ispe', u32(width), u32(height)), ...(codec ? [codec] : [])];
    // The codec is essential.
    const numbers = own.map((property, at) => all.push(property) | (at === 0 ? 0 : 0x80));
    return Buffer.concat([u16(id), Buffer.from([numbers.length, ...numbers])]);
  });
  return box('iprp', box('ipco', ...all), full('ipma', u32(items.length), ...links));
}

export const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);
export const u32 = (value: number): Buffer => Buffer.concat([u16(value >>> 16), u16(value & 0xffff)]);
const box = (name: string, ...content: Buffer[]): Buffer => {
  const body = Buffer.concat(content);
  return Buffer.concat([u32(body.length + 8), Buffer.from(name), body]);
};
const full = (name: string, ...content: Buffer[]): Buffer => box(name, u32(0), ...content);
/** Version 2. */
const infe = ({ id, type }: HeicItem): Buffer =>
  box('infe', u32(0x02000000), u16(id), u16(0), Buffer.from(type), Buffer.from([0]));

function findBox(file: Buffer, name: string): Buffer {
  const at = file.indexOf(name) - 4;
  return file.subarray(at, at + file.readUInt32BE(at));
}
