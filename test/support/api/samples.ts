import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { findFfmpeg } from '@gwk/core/process/ffmpeg';

/** Creates sample media files of all kinds on demand. */
export class Samples {
  constructor(readonly folder: string) {
    mkdirSync(folder, { recursive: true });
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Creates a tone that gets louder. The extension of `name` selects the format. */
  sound(name: string, seconds = 3, codec: string[] = []): string {
    const source = `aevalsrc=0.9*t/${seconds}*sin(880*PI*t):d=${seconds}:s=44100`;
    return this.#ffmpeg(name, ['-f', 'lavfi', '-i', source, ...codec]);
  }

  film(name: string, seconds = 2): string {
    const picture = `testsrc=duration=${seconds}:size=320x240:rate=25`;
    const sound = `sine=frequency=440:duration=${seconds}`;
    const inputs = ['-f', 'lavfi', '-i', picture, '-f', 'lavfi', '-i', sound];
    return this.#ffmpeg(name, [...inputs, '-pix_fmt', 'yuv420p', '-shortest']);
  }

  /** Creates a video without sound in a format and with a codec. */
  picturesWith(name: string, format: string, codec: string[]): string {
    const source = ['-f', 'lavfi', '-i', 'testsrc=duration=1:size=160x120:rate=10'];
    return this.#ffmpeg(name, [...source, ...codec, '-f', format]);
  }

  /** Creates a file with any arguments of ffmpeg. */
  make(name: string, args: string[]): string {
    return this.#ffmpeg(name, args);
  }

  rewrite(path: string, change: (bytes: Buffer) => void): string {
    const bytes = readFileSync(path);
    change(bytes);
    writeFileSync(path, bytes);
    return path;
  }

  /** Creates a program of the shell. */
  script(name: string, text: string): string {
    writeFileSync(this.path(name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return this.path(name);
  }

  async picture(name: string, width: number, height: number): Promise<string> {
    const path = this.path(name);
    const background = { r: 200, g: 30, b: 30 };
    await sharp({
      create: { width, height, channels: 3, background, noise: { type: 'gaussian', mean: 128, sigma: 40 } },
    }).toFile(path);
    return path;
  }

  #ffmpeg(name: string, args: string[]): string {
    const path = this.path(name);
    execFileSync(findFfmpeg(undefined)!, ['-v', 'error', '-y', ...args, path], { stdio: 'pipe' });
    return path;
  }
}
