import type { Readable } from 'node:stream';
import { WAVEFORM_POINTS } from '@gwk/core/decoder/jobs';

export const PCM_RATE = 8_000;
const BYTES = 2;
/** 50 ms. */
const WINDOW_BYTES = (PCM_RATE / 20) * BYTES;
const TOP = 100;

/** Measures the loudness of streamed PCM (16 bit, mono) in windows of 50 ms. */
export class Loudness {
  readonly #windows: number[] = [];
  #bytes = 0;

  constructor(pcm: Readable) {
    pcm.on('readable', () => {
      // The last window may be shorter.
      for (let window; (window = pcm.read(WINDOW_BYTES) as Buffer | null);) {
        this.#windows.push(levelOf(window));
        this.#bytes += window.length;
      }
    });
  }

  get seconds(): number {
    return this.#bytes / BYTES / PCM_RATE;
  }

  /** The loudest point is 100; all points of silence are 0. */
  points(): Uint8Array {
    return shrink(this.#windows, WAVEFORM_POINTS);
  }
}

function levelOf(window: Buffer): number {
  let squares = 0;
  for (let at = 0; at + BYTES <= window.length; at += BYTES) squares += window.readInt16LE(at) ** 2;
  return Math.sqrt((squares * BYTES) / window.length);
}

function shrink(levels: readonly number[], points: number): Uint8Array {
  const result = new Uint8Array(points);
  if (levels.length === 0) return result;
  const means = Array.from({ length: points }, (_, point) => {
    const from = Math.floor((point * levels.length) / points);
    const until = Math.max(from + 1, Math.floor(((point + 1) * levels.length) / points));
    const part = levels.slice(from, until);
    return part.reduce((sum, level) => sum + level, 0) / part.length;
  });
  const loudest = Math.max(...means);
  if (loudest === 0) return result;
  means.forEach((level, point) => (result[point] = Math.round((level / loudest) * TOP)));
  return result;
}
