import { setFlagsFromString } from 'node:v8';

/** More than both halves of V8's young generation. */
const BYTES = 64 * 1024 * 1024;
const WORDS = 1_000;
export const NO_PRETENURING = '--no-allocation-site-pretenuring';
export const GROWING_BY_ITS_SIZE = '--heap-growing-percent=100';

/**
 * Touches the whole young generation of V8 once, so that the process has its memory from the start. Otherwise the memory
 * grows by up to 33 MB at the first load, for example during an upload.
 * @returns the last allocation, so that V8 cannot remove the loop
 */
export function touchYoungHeap(): unknown[] {
  let last: unknown[] = [];
  for (let bytes = 0; bytes < BYTES; bytes += WORDS * 8) last = new Array(WORDS).fill(null);
  return last;
}

/**
 * Disables pretenuring: V8 allocates literals of a code location directly in the old generation once many of them survived.
 * A location that was busy under load stays pretenured, and then each request leaves garbage in the old generation. V8
 * reads the flag at each decision, so it can be set in a running process at start.
 */
export function disablePretenuring(): void {
  setFlagsFromString(NO_PRETENURING);
}

/**
 * Lets the old generation double before V8 marks it. By default V8 marks after as little as 10 % growth if it grows slowly,
 * here every 4 s. Marking takes both processors of a small machine for about 50 ms, which determines the p99 of requests.
 */
export function growOldSpaceByItsSize(): void {
  setFlagsFromString(GROWING_BY_ITS_SIZE);
}
