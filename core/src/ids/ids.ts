import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

export * from './public-ids.js';

const UUID_BYTES = 16;
const UUIDS_AT_ONCE = 256;
const MAX_SEQUENCE = 0xffff_ffff;
/** Random bytes for many ids at once: one call per id would cost more than the rest of making it. */
const randomness = Buffer.alloc(UUID_BYTES * UUIDS_AT_ONCE);
let randomnessUsed = randomness.length;
/** Timestamp and sequence of the last id. */
const last = { milliseconds: 0, sequence: 0 };

/** @returns a new UUIDv7; the ids of one process are strictly increasing */
export function newUuid(): string {
  if (randomnessUsed === randomness.length) {
    randomFillSync(randomness);
    randomnessUsed = 0;
  }
  const random = randomness.subarray(randomnessUsed, (randomnessUsed += UUID_BYTES));
  const now = Date.now();
  if (now > last.milliseconds || last.sequence === MAX_SEQUENCE) {
    last.milliseconds = Math.max(now, last.milliseconds + 1);
    // The highest bit is 0, so that the sequence can grow within the millisecond.
    last.sequence = random.readUInt32BE(0) >>> 1;
  } else {
    last.sequence++;
  }
  return uuidv7({ random, msecs: last.milliseconds, seq: last.sequence });
}

/** @returns the smallest UUIDv7 created at `time` (milliseconds since 1970) or later */
export function lowestUuidAt(time: number): string {
  const hex = Math.max(0, Math.floor(time)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`;
}
