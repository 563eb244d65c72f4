import { randomFillSync } from 'node:crypto';

const ID_BYTES = 9;
const IDS_PER_FILL = 256;
/** Random bytes for 256 ids: one call of the generator for each id would dominate the cost. */
const randomness = Buffer.alloc(ID_BYTES * IDS_PER_FILL);
let randomnessUsed = randomness.length;

/** Creates the id of a message on the network. All attempts to send the message use the same id. */
export function newWaMessageId(): string {
  if (randomnessUsed === randomness.length) {
    randomFillSync(randomness);
    randomnessUsed = 0;
  }
  const start = randomnessUsed;
  randomnessUsed += ID_BYTES;
  return `3EB0${randomness.toString('hex', start, randomnessUsed).toUpperCase()}`;
}
