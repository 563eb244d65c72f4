import { open } from 'node:fs/promises';

const HEADER_BYTES = 16;
const MAX_BOXES = 1_000;

export interface Mp4Layout {
  /** Main brand, for example `isom`; `qt  ` is QuickTime. */
  brand: string;
  /** The index is before the content, and the film is one piece: a phone plays it while it downloads. */
  isStreamable: boolean;
}

/** Reads the order of the outer boxes of an MP4 file (ISO 14496-12). */
export async function readMp4Layout(input: string): Promise<Mp4Layout> {
  await using file = await open(input, 'r');
  const { size: end } = await file.stat();
  const names: string[] = [];
  let brand = 'qt  ';
  for (let at = 0; at + 8 <= end && names.length < MAX_BOXES;) {
    const { buffer } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, at);
    const name = buffer.toString('latin1', 4, 8);
    const short = buffer.readUInt32BE(0);
    const size = short === 1 ? Number(buffer.readBigUInt64BE(8)) : short === 0 ? end - at : short;
    if (name === 'ftyp') brand = buffer.toString('latin1', 8, 12);
    names.push(name);
    if (size < 8) break;
    at += size;
  }
  const [index, content] = [names.indexOf('moov'), names.indexOf('mdat')];
  return { brand, isStreamable: index >= 0 && index < content && !names.includes('moof') };
}
