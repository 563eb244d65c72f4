import { setFlagsFromString } from 'node:v8';

/** More than both halves of V8's space for new objects hold. */
const BYTES = 64 * 1024 * 1024;
const WORDS = 1_000;

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
  setFlagsFromString('--no-allocation-site-pretenuring');
}
