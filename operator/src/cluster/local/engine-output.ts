import type { Logger } from '@gwk/core/log';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const MAX_LENGTH = 200;

/**
 * Reads an engine's output. JSON log lines go to the operator's output unchanged. Other lines are wrapped, so that
 * the output stays JSON lines. The last error is kept to explain the exit.
 */
export class EngineOutput {
  lastError: string | null = null;
  readonly #pod: string;
  readonly #log: Logger;
  readonly #print: (line: string) => void;

  constructor(pod: string, log: Logger, print: (line: string) => void) {
    this.#pod = pod;
    this.#log = log;
    this.#print = print;
  }

  read(stream: Readable): void {
    createInterface({ input: stream, crlfDelay: Infinity }).on('line', (line) => this.#line(line));
  }

  #line(line: string): void {
    if (line.trim() === '') return;
    const entry = parse(line);
    if (!entry) {
      const text = line.slice(0, MAX_LENGTH);
      // The first line of a crash names the error. Later lines only show the location.
      if (!text.startsWith(' ') && !text.startsWith('Node.js v')) this.lastError = text;
      this.#log.warn({ pod: this.#pod, line: text }, 'engine output');
      return;
    }
    if (entry.level === 'error' || entry.level === 'fatal')
      this.lastError = (entry.msg ?? '').slice(0, MAX_LENGTH);
    this.#print(line);
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
