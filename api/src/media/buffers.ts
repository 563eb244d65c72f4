import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes between two collections. */
const INTERVAL_BYTES = 4 * 1024 * 1024;

type Collect = (options: { type: 'minor' }) => void;
let collect: Collect | undefined;

function loadCollector(): Collect {
  setFlagsFromString('--expose-gc');
  const found = runInNewContext('gc') as Collect;
  setFlagsFromString('--no-expose-gc');
  return found;
}

let streamed = 0;

/**
 * Runs a minor garbage collection (1 to 2 ms) after every 4 MB of streamed data. Buffers are outside V8's heap, so V8 alone
 * frees streamed buffers only after about 64 MB.
 */
export function countStreamed(bytes: number): void {
  streamed += bytes;
  if (streamed < INTERVAL_BYTES) return;
  streamed = 0;
  (collect ??= loadCollector())({ type: 'minor' });
}
