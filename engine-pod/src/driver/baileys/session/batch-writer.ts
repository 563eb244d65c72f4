import type { SessionEntry } from '@gwk/core/protocol/engine';
import { BatchSender } from '../../../internal-api/batch-sender.js';

/** Writes entries to the store. They are durable when it resolves. */
type Write = (entries: SessionEntry[]) => Promise<void>;

/** Estimated size of an entry without its value. It keeps a request below the API's limit of 5,000 entries. */
const ENTRY_BYTES = 500;

/**
 * Batches writes. The entries of one write are never split. After a failure nothing more is written, because later
 * writes may depend on the lost ones.
 */
export function createBatchWriter(write: Write): Write {
  let failure: Error | undefined;
  const sender = new BatchSender<SessionEntry[], void>({
    maxItems: Infinity,
    estimateBytes: (entries) =>
      entries.reduce((sum, { value }) => sum + ENTRY_BYTES + (value?.length ?? 0), 0),
    send: async (writes) => {
      if (failure) throw failure;
      await write(keepLatest(writes.flat())).catch((error: unknown) => {
        failure = error instanceof Error ? error : new Error('a session write failed');
        throw failure;
      });
      return writes.map(() => undefined);
    },
  });
  return async (entries) => (entries.length > 0 ? sender.push(entries) : undefined);
}

/** Keeps the last value of each key, because one statement cannot write a row twice. */
function keepLatest(entries: SessionEntry[]): SessionEntry[] {
  return [...new Map(entries.map((entry) => [`${entry.type} ${entry.key}`, entry])).values()];
}
