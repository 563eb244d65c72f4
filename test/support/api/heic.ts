import { readFileSync, writeFileSync } from 'node:fs';
import type { Samples } from './samples.js';

/** Creates a HEIC with the colour red, as phones write it: an HEVC picture in an ISO container. ffmpeg cannot write one. */
export function makeHeic(samples: Samples, name: string, width: number, height: number): string {
  const codec = [
    '-c:v',
    'libx265',
    '-x265-params',
    'log-level=none',
    '-pix_fmt',
    'yuv420p',
    '-tag:v',
    'hvc1',
  ];
  const source = `color=red:duration=1:size=${width}x${height}:rate=1`;
  const film = readFileSync(
    samples.make(`${name}.mp4`, ['-f', 'lavfi', '-i', source, ...codec, '-frames:v', '1']),
  );
  const picture = findBox(film, 'mdat').subarray(8);
  const property = (content: Buffer[]) => [
    box('ipco', ...content),
    full('ipma', u32(1), u16(1), Buffer.from([content.length]), Buffer.from([0x81, 0x02])),
  ];
  const size = full('ispe', u32(width), u32(height));
  const meta = (offset: number): Buffer =>
    full(
      'meta',
      full('hdlr', u32(0), Buffer.from('pict'), Buffer.alloc(13)),
      full('pitm', u16(1)),
      full('iloc', Buffer.from([0x44, 0]), u16(1), u16(1), u16(0), u16(1), u32(offset), u32(picture.length)),
      full('iinf', u16(1), infe()),
      box('iprp', ...property([findBox(film, 'hvcC'), size])),
    );
  const head = box('ftyp', Buffer.from('heic'), u32(0), Buffer.from('mif1heic'));
  const offset = head.length + meta(0).length + 8;
  const path = samples.path(name);
  writeFileSync(path, Buffer.concat([head, meta(offset), box('mdat', picture)]));
  return path;
}

const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);
const u32 = (value: number): Buffer => Buffer.concat([u16(value >>> 16), u16(value & 0xffff)]);
const box = (name: string, ...content: Buffer[]): Buffer => {
  const body = Buffer.concat(content);
  return Buffer.concat([u32(body.length + 8), Buffer.from(name), body]);
};
const full = (name: string, ...content: Buffer[]): Buffer => box(name, u32(0), ...content);
/** Version 2. */
const infe = (): Buffer =>
  box('infe', u32(0x02000000), u16(1), u16(0), Buffer.from('hvc1'), Buffer.from([0]));

function findBox(file: Buffer, name: string): Buffer {
  const at = file.indexOf(name) - 4;
  return file.subarray(at, at + file.readUInt32BE(at));
}
