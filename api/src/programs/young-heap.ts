import { setFlagsFromString } from 'node:v8';

/** More than both halves of V8's space for new objects hold. */
const BYTES = 64 * 1024 * 1024;
const WORDS = 1_000;
export const NO_PRETENURING = '--no-allocation-site-pretenuring';
export const GROWING_BY_ITS_SIZE = '--heap-growing-percent=100';

/**
 * Uses V8's space for new objects once, so that its memory is the process's from the start. Its two halves are touched
 * only as garbage fills them: without this, up to 33 MB of them fell to an upload that happened to come first.
 * @returns what was allocated last
 */
export function touchYoungHeap(): unknown[] {
  let last: unknown[] = [];
  for (let bytes = 0; bytes < BYTES; bytes += WORDS * 8) last = new Array(WORDS).fill(null);
  return last;
}

/**
 * V8 counts which literals live long, and makes those of such a place among the old objects at once. A place that was
 * busy while much was waiting is taken for one of these for good: then each request leaves objects there that are dead
 * when it is answered, and lie there until old objects are searched. Read whenever such a count is looked at, so it may
 * be set in a running process, before that has worked much.
 */
export function keepNewObjectsYoung(): void {
  setFlagsFromString(NO_PRETENURING);
}

/**
 * V8 looks through the old objects when they have grown by a share of what lived the last time, and makes that share as
 * small as a tenth where they grow slowly: then it looks each four seconds for what has not died. That takes both processors
 * of a small machine for a twentieth of a second, and makes the slowest hundredth of all requests.
 */
export function seldomSearchOldObjects(): void {
  setFlagsFromString(GROWING_BY_ITS_SIZE);
}
