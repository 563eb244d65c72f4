import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Buffers lie outside V8's heap, and it collects them late: what has streamed through a process stays in it until
 * some 64 MB have gathered. Where much streams, the young generation is collected now and then: a millisecond or two
 * that frees all that has passed.
 */
const BETWEEN = 4 * 1024 * 1024;

type Collect = (options: { type: 'minor' }) => void;
let collect: Collect | undefined;

function collector(): Collect {
  setFlagsFromString('--expose-gc');
  const found = runInNewContext('gc') as Collect;
  setFlagsFromString('--no-expose-gc');
  return found;
}

export class PassingBuffers {
  #bytes = 0;

  passed(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < BETWEEN) return;
    this.#bytes = 0;
    (collect ??= collector())({ type: 'minor' });
  }
}
