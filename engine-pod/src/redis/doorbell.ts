import { GroupReader } from './group-reader.js';
import type { RedisLink } from './link.js';
import type { StreamEntry } from './streams.js';

export interface DoorbellOptions {
  stream: string;
  epoch: number;
  /** Blocks on it: its own. */
  link: RedisLink;
  /** Rings; resolves when a claim made after that is answered, or none can be made now. */
  ring: () => Promise<void>;
  /** Keeps an entry until its message is settled; false when there is nothing to keep it for. */
  keep: (messageId: string, entry: string) => boolean;
  putAway: (entries: string[]) => void;
}

const BATCH = 32;

/**
 * Reads the stream of waiting messages. The rows are the queue, so an entry has done its work once a claim has been
 * made: it is put away then, or with the outcome of its message where that was claimed. One small batch after the
 * other, so a long stream costs no memory.
 */
export function doorbell(options: DoorbellOptions): GroupReader {
  const { stream, epoch, link, ring, keep, putAway } = options;
  const take = async (entries: StreamEntry[]): Promise<void> => {
    await ring();
    const done = entries.filter(({ id, fields }) => !keep(fields['m'] ?? '', id));
    if (done.length > 0) putAway(done.map(({ id }) => id));
  };
  // Where Redis was lost, what it should have rung for waits: claims are made whenever the stream is opened.
  return new GroupReader({ stream, epoch, link, batch: BATCH, opened: ring, take });
}
