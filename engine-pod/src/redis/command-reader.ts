import type { Logger } from '@gwk/core/log';
import { decodeCommand, type Command, type CommandReply } from '@gwk/core/protocol/commands';
import { ENGINE_GROUP, type RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { RedisConnection } from './connection.js';
import { GroupReader } from './group-reader.js';
import type { ReconnectingLink } from './reconnecting-link.js';
import type { StreamEntry } from './streams.js';

/** What a command answers; an error answers `code` with its message. */
export type CommandHandler = (args: string) => unknown;

export class CommandError extends Error {
  override name = 'CommandError';
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export interface CommandReaderOptions {
  instanceId: string;
  keys: RedisKeys;
  key: Uint8Array;
  epoch: number;
  /** Blocks on it: its own. */
  link: ReconnectingLink;
  /** Publishes replies: the reading connection is mostly blocked. */
  publisher: ReconnectingLink;
  log: Logger;
  handlers: Record<Command['name'], CommandHandler>;
}

const BATCH = 16;

/**
 * Obeys the commands of an instance. Whoever deletes an entry owns it: it is deleted before it is obeyed, so that no
 * command runs twice, whatever crashes; one that was lost that way was not answered, and whoever asked is told so.
 * Deadlines use the clock of Redis, and a command past its own is dropped: a logout of yesterday never runs.
 */
export class CommandReader {
  readonly #options: CommandReaderOptions;
  readonly #stream: string;
  readonly #reader: GroupReader;
  readonly #executing = new Set<Promise<void>>();

  constructor(options: CommandReaderOptions) {
    this.#options = options;
    this.#stream = options.keys.commands(options.instanceId);
    this.#reader = new GroupReader({
      stream: this.#stream,
      epoch: options.epoch,
      link: options.link,
      batch: BATCH,
      opened: async () => {},
      take: (entries, connection) => this.#takeEntries(entries, connection),
    });
  }

  run(): Promise<void> {
    return this.#reader.run();
  }

  async #takeEntries(entries: StreamEntry[], connection: RedisConnection): Promise<void> {
    for (const entry of entries) {
      const deleted = await connection.call(['XDEL', this.#stream, entry.id]);
      await connection.call(['XACK', this.#stream, ENGINE_GROUP, entry.id]);
      if (deleted === 1) await this.#take(connection, entry);
    }
  }

  /** Commands run side by side: a slow one holds up no other. */
  async #take(connection: RedisConnection, entry: StreamEntry): Promise<void> {
    const command = decodeCommand(entry.fields, this.#options.key);
    if (!command) {
      this.#options.log.warn(
        { entry: entry.id },
        'a command that was not sealed with the key of this instance was dropped',
      );
      return;
    }
    const now = await redisTime(connection);
    if (now > command.deadline) {
      this.#options.log.info({ command: command.name, command_id: command.id }, 'a late command was dropped');
      return;
    }
    const obeying = this.#execute(command).finally(() => this.#executing.delete(obeying));
    this.#executing.add(obeying);
  }

  async waitForReplies(): Promise<void> {
    await Promise.all(this.#executing);
  }

  async #execute(command: Command): Promise<void> {
    const { instanceId, keys, publisher, log } = this.#options;
    const reply = await this.#answer(command);
    try {
      await publisher.call(['PUBLISH', keys.replies(instanceId, command.requester), JSON.stringify(reply)]);
    } catch (error) {
      log.warn({ command_id: command.id, err: error }, 'a reply could not be published');
    }
  }

  async #answer(command: Command): Promise<CommandReply> {
    const { log, handlers } = this.#options;
    log.info({ command: command.name, command_id: command.id }, 'command');
    try {
      return { id: command.id, ok: true, result: (await handlers[command.name](command.args)) ?? null };
    } catch (error) {
      if (error instanceof CommandError) {
        return { id: command.id, ok: false, code: error.code, message: error.message };
      }
      log.error({ command: command.name, command_id: command.id, err: error }, 'command failed');
      return { id: command.id, ok: false, code: 'internal', message: 'the command failed' };
    }
  }
}

async function redisTime(connection: RedisConnection): Promise<number> {
  const reply = await connection.call(['TIME']);
  if (!Array.isArray(reply)) throw new Error('TIME answered something else');
  return Number(reply[0]) * 1000 + Math.floor(Number(reply[1]) / 1000);
}
