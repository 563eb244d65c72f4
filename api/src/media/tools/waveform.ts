import { WAVEFORM_POINTS } from './jobs.js';

export const PCM_RATE = 8_000;
const WINDOW = PCM_RATE / 20;
const BYTES = 2;
const TOP = 100;

/** Measures the loudness of streamed PCM (16 bit, mono) in windows of 50 ms. */
export class Loudness {
  readonly #windows: number[] = [];
  #squares = 0;
  #inWindow = 0;
  #samples = 0;
  #odd: number | null = null;

  add(chunk: Buffer): void {
    let bytes = chunk;
    if (this.#odd !== null) bytes = Buffer.concat([Buffer.from([this.#odd]), chunk]);
    const whole = bytes.length - (bytes.length % BYTES);
    this.#odd = whole < bytes.length ? bytes[whole]! : null;
    for (let at = 0; at < whole; at += BYTES) this.#addSample(bytes.readInt16LE(at));
  }

  get seconds(): number {
    return this.#samples / PCM_RATE;
  }

  /** The loudest point is 100; all points of silence are 0. */
  points(): Uint8Array {
    const windows = this.#inWindow > 0 ? [...this.#windows, this.#level()] : this.#windows;
    return shrink(windows, WAVEFORM_POINTS);
  }

  #addSample(sample: number): void {
    this.#squares += sample * sample;
    this.#inWindow += 1;
    this.#samples += 1;
    if (this.#inWindow < WINDOW) return;
    this.#windows.push(this.#level());
    this.#squares = 0;
    this.#inWindow = 0;
  }

  #level(): number {
    return Math.sqrt(this.#squares / this.#inWindow);
  }
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
