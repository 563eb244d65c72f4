import { randomFillSync } from 'node:crypto';

const WA_ID_BYTES = 9;
const WA_IDS_AT_ONCE = 256;
/** Drawn for many at once: a draw for each costs more than all the rest of making one. */
const randomness = Buffer.alloc(WA_ID_BYTES * WA_IDS_AT_ONCE);
let randomnessUsed = randomness.length;

/** An id on the network: chosen once, the same for every attempt. */
export function newWaMessageId(): string {
  if (randomnessUsed === randomness.length) {
    randomFillSync(randomness);
    randomnessUsed = 0;
  }
  const start = randomnessUsed;
  randomnessUsed += WA_ID_BYTES;
  return `3EB0${randomness.toString('hex', start, randomnessUsed).toUpperCase()}`;
}
