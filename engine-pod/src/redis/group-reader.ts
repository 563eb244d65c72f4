import { ENGINE_GROUP } from '@gwk/core/protocol/redis-keys';
import type { RedisConnection } from './connection.js';
import type { ReconnectingLink } from './reconnecting-link.js';
import { RedisErrorReply, type Reply } from './resp.js';

export interface StreamEntry {
  id: string;
  fields: Record<string, string>;
}

interface GroupReaderOptions {
  stream: string;
  epoch: number;
  /** A link of its own, because reads block. */
  link: ReconnectingLink;
  batch: number;
  /**
   * Called when the stream is available. It may be newly created, and then entries of an older one may be lost. Awaited
   * before entries are read.
   */
  opened?: () => Promise<void>;
  /** Awaited before the next batch is read, so that at most one batch is in memory. */
  handle: (entries: StreamEntry[], connection: RedisConnection) => Promise<void>;
}

const BLOCK_MS = 5_000;

/**
 * Reads a stream as the consumer of an epoch while its link runs. Entries that an older epoch read and did not
 * acknowledge come first. If Redis lost the stream, it is created again with its group at 0, so nothing written
 * since is missed.
 */
export function readGroup(options: GroupReaderOptions): Promise<void> {
  return options.link.run(async (connection) => {
    for (;;) {
      try {
        await createGroup(options, connection);
        await options.opened?.();
        await takeOverPending(options, connection);
        for (;;) await readBatch(options, connection);
      } catch (error) {
        if (!(error instanceof RedisErrorReply) || error.code !== 'NOGROUP') throw error;
      }
    }
  });
}

async function createGroup({ stream }: GroupReaderOptions, connection: RedisConnection): Promise<void> {
  try {
    await connection.call(['XGROUP', 'CREATE', stream, ENGINE_GROUP, '0', 'MKSTREAM']);
  } catch (error) {
    if (!(error instanceof RedisErrorReply) || error.code !== 'BUSYGROUP') throw error;
  }
}

async function takeOverPending(options: GroupReaderOptions, connection: RedisConnection): Promise<void> {
  const { stream, epoch, batch } = options;
  const claim = ['XAUTOCLAIM', stream, ENGINE_GROUP, String(epoch), '0'];
  for (let cursor: unknown = '0-0', first = true; first || cursor !== '0-0'; first = false) {
    const reply = await connection.call([...claim, String(cursor), 'COUNT', String(batch)]);
    if (!Array.isArray(reply)) return;
    cursor = reply[0];
    await handleEntries(options, reply[1], connection);
  }
}

async function readBatch(options: GroupReaderOptions, connection: RedisConnection): Promise<void> {
  const { stream, epoch, batch } = options;
  const read = ['XREADGROUP', 'GROUP', ENGINE_GROUP, String(epoch), 'COUNT', String(batch)];
  const reply = await connection.call(
    [...read, 'BLOCK', String(BLOCK_MS), 'STREAMS', stream, '>'],
    BLOCK_MS * 2,
  );
  // Null when it timed out.
  const [only] = Array.isArray(reply) ? reply : [];
  await handleEntries(options, Array.isArray(only) ? only[1] : undefined, connection);
}

async function handleEntries(
  { handle }: GroupReaderOptions,
  list: Reply | undefined,
  connection: RedisConnection,
): Promise<void> {
  const entries = Array.isArray(list) ? list.flatMap(parseEntry) : [];
  if (entries.length > 0) await handle(entries, connection);
}

function parseEntry(item: Reply): StreamEntry[] {
  if (!Array.isArray(item) || typeof item[0] !== 'string') return [];
  const [id, values] = item;
  // An entry that was deleted after its delivery comes back without fields.
  const list = Array.isArray(values) ? values : [];
  const fields: Record<string, string> = {};
  for (let i = 0; i + 1 < list.length; i += 2) fields[String(list[i])] = String(list[i + 1]);
  return [{ id, fields }];
}
