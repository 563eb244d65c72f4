import { randomFillSync } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';

/**
 * Public identifiers: a prefix and 32 lowercase hex characters (spec: Identifier prefixes).
 * The hex is a UUID of version 7, so ids sort by creation time; databases hold the UUID, consumers see the prefix.
 */
export const ID_PREFIXES = {
  account: 'acc_',
  apiKey: 'key_',
  instance: 'ins_',
  message: 'msg_',
  media: 'med_',
  event: 'evt_',
  endpoint: 'whe_',
  delivery: 'whd_',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

const UUID_BYTES = 16;
const UUIDS_AT_ONCE = 256;
const MAX_SEQUENCE = 0xffff_ffff;
/** Drawn for many at once: a draw for each costs more than all the rest of making one. */
const randomness = Buffer.alloc(UUID_BYTES * UUIDS_AT_ONCE);
let randomnessUsed = randomness.length;
/** Of the last id. */
const last = { milliseconds: 0, sequence: 0 };

/** A new UUID of version 7; ids made by one process are strictly increasing. */
export function newUuid(): string {
  if (randomnessUsed === randomness.length) {
    randomFillSync(randomness);
    randomnessUsed = 0;
  }
  const random = randomness.subarray(randomnessUsed, (randomnessUsed += UUID_BYTES));
  const now = Date.now();
  if (now > last.milliseconds || last.sequence === MAX_SEQUENCE) {
    last.milliseconds = Math.max(now, last.milliseconds + 1);
    // Begins low, so that there is room to count on within the millisecond.
    last.sequence = random.readUInt32BE(0) >>> 1;
  } else {
    last.sequence++;
  }
  return uuidv7({ random, msecs: last.milliseconds, seq: last.sequence });
}

/** `ins_0193...` for a UUID of the database. */
export function toPublicId(kind: IdKind, uuid: string): string {
  return ID_PREFIXES[kind] + uuid.replaceAll('-', '');
}

/** The UUID of a public id, or null when the text is not an id of that kind. */
export function fromPublicId(kind: IdKind, id: string): string | null {
  const prefix = ID_PREFIXES[kind];
  if (id.length !== prefix.length + 32 || !id.startsWith(prefix)) return null;
  const hex = id.slice(prefix.length);
  if (!/^[0-9a-f]{32}$/.test(hex)) return null;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Milliseconds since 1970 at which a UUID of version 7 was made. */
export function timeOfUuid(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}

/** The smallest UUID that one made at `time` (milliseconds since 1970) or later can have. */
export function lowestUuidAt(time: number): string {
  const hex = Math.max(0, Math.floor(time)).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`;
}
