import type { Logger } from '@gwk/core/log';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const LONGEST = 200;

/**
 * What an engine prints: its log lines go on as they are to this program's own output; anything else is wrapped, so
 * that the output stays JSON lines. The last complaint is kept for whoever asks why the engine ended.
 */
export class EngineOutput {
  #complaint: string | null = null;
  readonly #pod: string;
  readonly #log: Logger;
  readonly #pass: (line: string) => void;

  constructor(pod: string, log: Logger, pass: (line: string) => void) {
    this.#pod = pod;
    this.#log = log;
    this.#pass = pass;
  }

  get complaint(): string | null {
    return this.#complaint;
  }

  read(stream: Readable): void {
    createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => this.#line(line));
  }

  #line(line: string): void {
    if (line.trim() === '') return;
    const entry = parse(line);
    if (!entry) {
      const text = line.slice(0, LONGEST);
      // The first line of a crash names the error, those after it only the place.
      if (!text.startsWith(' ') && !text.startsWith('Node.js v')) this.#complaint = text;
      this.#log.warn({ pod: this.#pod, line: text }, 'an engine printed');
      return;
    }
    if (entry.level === 'error' || entry.level === 'fatal')
      this.#complaint = (entry.msg ?? '').slice(0, LONGEST);
    this.#pass(line);
  }
}

function parse(line: string): { level?: string; msg?: string } | null {
  if (!line.startsWith('{')) return null;
  try {
    return JSON.parse(line) as { level?: string; msg?: string };
  } catch {
    return null;
  }
}
