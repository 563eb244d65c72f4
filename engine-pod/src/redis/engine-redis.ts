import type { Logger } from '@gwk/core/log';
import type { Heartbeat } from '@gwk/core/protocol/heartbeat';
import type { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { CommandReader, type CommandReaderOptions } from './command-reader.js';
import type { RedisAddress } from './connection.js';
import { readNotifications, type NotificationReaderOptions } from './notifications.js';
import { ReconnectingLink } from './reconnecting-link.js';
import { RedisWriter } from './writer.js';

interface EngineRedisOptions extends Pick<
  NotificationReaderOptions,
  'notify' | 'keep' | 'received' | 'traced'
> {
  address: RedisAddress;
  keys: RedisKeys;
  instanceId: string;
  epoch: number;
  renewMs: number;
  commandKey: Uint8Array;
  log: Logger;
  restoreUser: () => Promise<void>;
  heartbeat: () => Heartbeat;
  handlers: CommandReaderOptions['handlers'];
}

/**
 * The Redis connections of an engine: two block on a stream, one writes.
 *
 *     sends stream ────▶ notifications.ts ───▶ claimer          (which messages wait is in Postgres)
 *     commands stream ─▶ command-reader.ts ──▶ command handlers ─▶ reply (publish)
 *     writer.ts ───────▶ heartbeat key, acknowledged entries
 */
export class EngineRedis {
  readonly #options: EngineRedisOptions;
  readonly #links: Record<'notifications' | 'commands' | 'writer', ReconnectingLink>;
  readonly #writer: RedisWriter;
  readonly #commands: CommandReader;
  #restoring: Promise<void> | undefined;

  constructor(options: EngineRedisOptions) {
    const { address, log } = options;
    this.#options = options;
    const link = (name: string): ReconnectingLink =>
      new ReconnectingLink({
        address,
        restoreUser: () => this.#restoreUser(),
        log: log.child({ link: name }),
      });
    this.#links = {
      notifications: link('notifications'),
      commands: link('commands'),
      writer: link('writer'),
    };
    this.#writer = new RedisWriter({ ...options, link: this.#links.writer });
    this.#commands = new CommandReader({
      ...options,
      key: options.commandKey,
      link: this.#links.commands,
      publisher: this.#links.writer,
    });
  }

  get up(): boolean {
    return this.#links.notifications.up;
  }

  start(): void {
    void readNotifications({
      ...this.#options,
      stream: this.#options.keys.sends(this.#options.instanceId),
      link: this.#links.notifications,
      acknowledge: (entries) => this.acknowledge(entries),
    });
    void this.#commands.run();
    void this.#writer.run();
  }

  /** Resolves once the commands in progress have been answered. */
  waitForReplies(): Promise<void> {
    return this.#commands.waitForReplies();
  }

  stop(): void {
    this.#writer.stop();
    for (const link of Object.values(this.#links)) link.stop();
  }

  sendHeartbeat(): void {
    this.#writer.sendHeartbeat();
  }

  acknowledge(entries: string[]): void {
    this.#writer.acknowledge(entries);
  }

  /** All links lose the user at once. One call restores it for all. */
  #restoreUser(): Promise<void> {
    this.#restoring ??= this.#options.restoreUser().finally(() => (this.#restoring = undefined));
    return this.#restoring;
  }
}
