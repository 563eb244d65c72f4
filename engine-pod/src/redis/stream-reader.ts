import type { RedisConnection } from './connection.js';
import type { ReconnectingLink } from './reconnecting-link.js';
import type { Reply } from './resp.js';

export interface StreamEntry {
  id: string;
  fields: Record<string, string>;
}

interface StreamReaderOptions {
  stream: string;
  /** A link of its own, because reads block. */
  link: ReconnectingLink;
  batch: number;
  /** Called for each new connection, since entries may be lost. Awaited before entries are read. */
  opened?: () => Promise<void>;
  /** Awaited before the next batch is read, so that at most one batch is in memory. */
  handle: (entries: StreamEntry[], connection: RedisConnection) => Promise<void>;
}

const BLOCK_MS = 5_000;

/**
 * Reads a stream while its link runs. Each connection begins with the entries that nobody has deleted yet. There is no
 * consumer group, because its names would need memory that Redis cannot limit.
 */
export function readStream({ stream, link, batch, opened, handle }: StreamReaderOptions): Promise<void> {
  return link.run(async (connection) => {
    await opened?.();
    for (let last = '0-0'; ;) {
      const read = ['XREAD', 'COUNT', String(batch), 'BLOCK', String(BLOCK_MS), 'STREAMS', stream, last];
      const entries = parseEntries(await connection.call(read, BLOCK_MS * 2));
      if (entries.length === 0) continue;
      await handle(entries, connection);
      last = entries.at(-1)!.id;
    }
  });
}

/** @param reply null if the read timed out */
function parseEntries(reply: Reply): StreamEntry[] {
  const [only] = Array.isArray(reply) ? reply : [];
  const list = Array.isArray(only) ? only[1] : undefined;
  return Array.isArray(list) ? list.flatMap(parseEntry) : [];
}

function parseEntry(item: Reply): StreamEntry[] {
  if (!Array.isArray(item) || typeof item[0] !== 'string') return [];
  const [id, values] = item;
  const list = Array.isArray(values) ? values : [];
  const fields: Record<string, string> = {};
  for (let i = 0; i + 1 < list.length; i += 2) fields[String(list[i])] = String(list[i + 1]);
  return [{ id, fields }];
}
