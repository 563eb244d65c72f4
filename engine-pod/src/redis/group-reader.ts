import { ENGINE_GROUP } from '@gwk/core/protocol/redis-keys';
import type { RedisConnection } from './connection.js';
import type { ReconnectingLink } from './reconnecting-link.js';
import { RedisErrorReply } from './resp.js';
import { parseEntries, parseReadReply, type StreamEntry } from './streams.js';

interface GroupReaderOptions {
  stream: string;
  epoch: number;
  link: ReconnectingLink;
  batch: number;
  /**
   * Called when the stream is available. It may be newly created, and then entries of an older one may be lost. Awaited
   * before entries are read.
   */
  opened: () => Promise<void>;
  /** Awaited before the next batch is read, so that at most one batch is in memory. */
  handle: (entries: StreamEntry[], connection: RedisConnection) => Promise<void>;
}

const BLOCK_MS = 5_000;

/**
 * Reads a stream as the consumer of an epoch while its link runs. Entries that an older epoch read and did not
 * acknowledge come first. If Redis lost the stream, it is created again with its group at 0, so nothing written
 * since is missed.
 */
export class GroupReader {
  readonly #options: GroupReaderOptions;

  constructor(options: GroupReaderOptions) {
    this.#options = options;
  }

  run(): Promise<void> {
    return this.#options.link.run((connection) => this.#readStream(connection));
  }

  async #readStream(connection: RedisConnection): Promise<void> {
    for (;;) {
      try {
        await this.#open(connection);
        for (;;) await this.#readBatch(connection);
      } catch (error) {
        if (!(error instanceof RedisErrorReply) || error.code !== 'NOGROUP') throw error;
      }
    }
  }

  async #open(connection: RedisConnection): Promise<void> {
    await this.#createGroup(connection);
    await this.#options.opened();
    await this.#takeOverPending(connection);
  }

  async #createGroup(connection: RedisConnection): Promise<void> {
    try {
      await connection.call(['XGROUP', 'CREATE', this.#options.stream, ENGINE_GROUP, '0', 'MKSTREAM']);
    } catch (error) {
      if (!(error instanceof RedisErrorReply) || error.code !== 'BUSYGROUP') throw error;
    }
  }

  async #takeOverPending(connection: RedisConnection): Promise<void> {
    const { stream, epoch, batch } = this.#options;
    const claim = ['XAUTOCLAIM', stream, ENGINE_GROUP, String(epoch), '0'];
    for (let cursor: unknown = '0-0', first = true; first || cursor !== '0-0'; first = false) {
      const reply = await connection.call([...claim, String(cursor), 'COUNT', String(batch)]);
      if (!Array.isArray(reply)) return;
      cursor = reply[0];
      await this.#handle(parseEntries(reply[1] ?? null), connection);
    }
  }

  async #readBatch(connection: RedisConnection): Promise<void> {
    const { stream, epoch, batch } = this.#options;
    const read = ['XREADGROUP', 'GROUP', ENGINE_GROUP, String(epoch), 'COUNT', String(batch)];
    const reply = await connection.call(
      [...read, 'BLOCK', String(BLOCK_MS), 'STREAMS', stream, '>'],
      BLOCK_MS * 2,
    );
    await this.#handle(parseReadReply(reply), connection);
  }

  async #handle(entries: StreamEntry[], connection: RedisConnection): Promise<void> {
    if (entries.length > 0) await this.#options.handle(entries, connection);
  }
}
