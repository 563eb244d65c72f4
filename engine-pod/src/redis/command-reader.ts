import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { Logger } from '@gwk/core/process/log';
import { decodeCommand, type Command, type CommandReply } from '@gwk/core/protocol/commands';
import type { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { RedisConnection } from './connection.js';
import type { ReconnectingLink } from './reconnecting-link.js';
import { readStream, type StreamEntry } from './stream-reader.js';

/** Returns the result of a command. A CommandError becomes a reply with its code and message. */
type CommandHandler = (args: string) => unknown;

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
  commandKey: Uint8Array;
  link: ReconnectingLink;
  /** The link for replies, because the reading one is mostly blocked. */
  publisher: ReconnectingLink;
  log: Logger;
  handlers: Record<Command['name'], CommandHandler>;
}

const BATCH = 16;
/** Longer than any deadline of the API, 14 s. */
const EXECUTED = { max: 5_000, ttlMs: 120_000 };

/**
 * Executes the commands of an instance. An entry is deleted before its command is executed, so that no command runs
 * twice after a crash. A command lost this way gets no reply, and its requester is informed of that. A failover of Redis
 * may lose the deletion, so the ids of executed commands are remembered. Deadlines use the clock of Redis. Expired
 * commands are dropped, so an old logout never runs.
 */
export class CommandReader {
  readonly #options: CommandReaderOptions;
  readonly #stream: string;
  readonly #executing = new Set<Promise<void>>();
  readonly #executed = new ExpiringMap<true>(EXECUTED);

  constructor(options: CommandReaderOptions) {
    this.#options = options;
    this.#stream = options.keys.commands(options.instanceId);
  }

  run(): Promise<void> {
    return readStream({
      stream: this.#stream,
      link: this.#options.link,
      batch: BATCH,
      handle: (entries, connection) => this.#handleEntries(entries, connection),
    });
  }

  async #handleEntries(entries: StreamEntry[], connection: RedisConnection): Promise<void> {
    for (const entry of entries) {
      const deleted = await connection.call(['XDEL', this.#stream, entry.id]);
      if (deleted === 1) await this.#handleEntry(connection, entry);
    }
  }

  /** Commands run concurrently, so a slow one does not block the others. */
  async #handleEntry(connection: RedisConnection, { id, fields }: StreamEntry): Promise<void> {
    const { commandKey, log } = this.#options;
    const command = decodeCommand(fields, commandKey);
    if (!command)
      return log.warn({ entry: id }, 'command dropped: not encrypted with the key of this instance');
    const named = { command: command.name, command_id: command.id };
    const now = await redisTime(connection);
    if (now > command.deadline) return log.info(named, 'command dropped: past its deadline');
    if (this.#executed.get(command.id)) return log.warn(named, 'command dropped: executed before');
    this.#executed.set(command.id, true);
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
      log.warn({ command_id: command.id, err: error }, 'command reply could not be published');
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
  if (!Array.isArray(reply)) throw new Error('unexpected reply to TIME');
  return Number(reply[0]) * 1000 + Math.floor(Number(reply[1]) / 1000);
}
