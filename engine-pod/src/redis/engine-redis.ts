import type { Logger } from '@gwk/core/log';
import type { Heartbeat } from '@gwk/core/protocol/heartbeat';
import type { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { CommandReader, type CommandReaderOptions } from './command-reader.js';
import type { RedisAddress } from './connection.js';
import { doorbell, type DoorbellOptions } from './notifications.js';
import { RedisLink } from './reconnecting-link.js';
import { SideChannel } from './writer.js';

export interface RedisSideOptions extends Pick<DoorbellOptions, 'ring' | 'keep' | 'heard' | 'traced'> {
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

/** All that an engine has of Redis: three connections, two of which block on a stream. */
export class RedisSide {
  readonly #links: { bell: RedisLink; commands: RedisLink; side: RedisLink };
  readonly #side: SideChannel;
  readonly #commands: CommandReader;
  readonly #run: () => Promise<void>[];
  #restoring: Promise<void> | undefined;

  constructor(options: RedisSideOptions) {
    const { address, keys, instanceId, epoch, log } = options;
    const restoreUser = (): Promise<void> => this.#restore(options.restoreUser);
    const link = (name: string): RedisLink =>
      new RedisLink({ address, restoreUser, log: log.child({ link: name }) });
    this.#links = { bell: link('bell'), commands: link('commands'), side: link('side') };
    const { side } = this.#links;
    this.#side = new SideChannel({ ...options, link: side });
    const bell = doorbell({
      ...options,
      stream: keys.sends(instanceId),
      epoch,
      link: this.#links.bell,
      putAway: (entries) => this.#side.putAway(entries),
    });
    this.#commands = new CommandReader({
      ...options,
      key: options.commandKey,
      link: this.#links.commands,
      side,
    });
    this.#run = () => [bell.run(), this.#commands.run(), this.#side.run()];
  }

  get up(): boolean {
    return this.#links.bell.up;
  }

  start(): void {
    for (const running of this.#run()) void running;
  }

  /** Resolves once the commands that are being obeyed have been answered. */
  replied(): Promise<void> {
    return this.#commands.replied();
  }

  stop(): void {
    this.#side.stop();
    for (const link of Object.values(this.#links)) link.stop();
  }

  beat(): void {
    this.#side.beat();
  }

  putAway(entries: string[]): void {
    this.#side.putAway(entries);
  }

  /** All links lose the user at once, and one call makes it again for all. */
  #restore(restoreUser: () => Promise<void>): Promise<void> {
    this.#restoring ??= restoreUser().finally(() => (this.#restoring = undefined));
    return this.#restoring;
  }
}
