import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '@gwk/core/clock';
import type { Logger } from '@gwk/core/process/log';
import {
  encodeCommand,
  MAX_REPLY_LENGTH,
  type Command,
  type CommandName,
  type CommandReply,
} from '@gwk/core/protocol/commands';
import { COMMANDS_MAXLEN, type RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { Sealer } from '@gwk/core/crypto/encryption';
import { closeRedis, openRedis, type Redis } from '../platform/redis.js';

declare module '../http/services.js' {
  interface Services {
    live: LiveCommands;
  }
}

/** Column of the key of the commands to an instance's engine (core/src/protocol/commands.ts). */
const KEY_COLUMN = 'instances.command_key_sealed';
const KEY_BYTES = 32;

export function newCommandKey(sealer: Sealer, instanceId: string): Buffer {
  return sealer.seal(instanceId, KEY_COLUMN, randomBytes(KEY_BYTES));
}

export function openCommandKey(sealer: Sealer, instanceId: string, sealed: Uint8Array): Buffer {
  return sealer.open(instanceId, KEY_COLUMN, sealed);
}

export interface CommandTarget {
  id: string;
  commandKeySealed: Uint8Array;
}

interface LiveOptions {
  redis: Redis;
  redisUrl: string;
  redisCa?: string | undefined;
  keys: RedisKeys;
  sealer: Sealer;
  log: Logger;
  /** Clock of the deadlines. */
  clock: Clock;
}

/**
 * Live commands: sent on the instance's stream, answered on a channel of this process. The caller waits until the deadline, and
 * an engine drops a command after it. The deadline is in the time of Redis.
 */
export class LiveCommands {
  readonly #options: LiveOptions;
  readonly #requester = randomUUID();
  /** Functions that end a wait, by command. */
  readonly #waiting = new Map<string, (reply: CommandReply | null) => void>();
  readonly #replies: Redis;
  #subscribed = false;

  constructor(options: LiveOptions) {
    this.#options = options;
    // Answers need their own connection, because a subscribed one accepts no other commands.
    const { redisUrl: url, redisCa: ca, log } = options;
    this.#replies = openRedis({ url, ca, program: 'gwk-api-replies', log });
    this.#replies.on('ready', () => void this.#subscribe());
  }

  close(): void {
    for (const settle of this.#waiting.values()) settle(null);
    closeRedis(this.#replies);
  }

  /** Whether commands can be sent and answers received. */
  get up(): boolean {
    return this.#options.redis.isReady && this.#replies.isReady && this.#subscribed;
  }

  /** Returns the engine's answer; null after `timeoutMs` or if Redis is unavailable. */
  async ask(
    target: CommandTarget,
    name: CommandName,
    args: Record<string, unknown>,
    timeoutMs: number,
  ): Promise<CommandReply | null> {
    if (!this.up) return null;
    const id = randomUUID();
    const { promise, resolve: settle } = Promise.withResolvers<CommandReply | null>();
    const cancel = this.#options.clock.after(timeoutMs, () => settle(null));
    this.#waiting.set(id, settle);
    this.#send(target, { id, name, args: JSON.stringify(args) }, timeoutMs).catch(() => settle(null));
    return promise.finally(() => {
      cancel();
      this.#waiting.delete(id);
    });
  }

  async #send(
    target: CommandTarget,
    command: Pick<Command, 'id' | 'name' | 'args'>,
    timeoutMs: number,
  ): Promise<void> {
    const { redis, keys, sealer } = this.#options;
    const [seconds, microseconds] = await redis.time();
    const deadline = Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000) + timeoutMs;
    const fields = encodeCommand(
      { ...command, deadline, requester: this.#requester },
      openCommandKey(sealer, target.id, target.commandKeySealed),
    );
    const TRIM = { strategy: 'MAXLEN', strategyModifier: '~', threshold: COMMANDS_MAXLEN } as const;
    await redis.xAdd(keys.commands(target.id), '*', fields, { TRIM });
  }

  /** Subscribes once; the client restores the subscription after a reconnect. */
  async #subscribe(): Promise<void> {
    if (this.#subscribed) return;
    const { keys, log } = this.#options;
    try {
      await this.#replies.pSubscribe(keys.repliesPattern(this.#requester), (text) => this.#receive(text));
      this.#subscribed = true;
    } catch (error) {
      log.warn({ err: error }, 'subscribing to the answers of engines failed; retrying at the next connect');
    }
  }

  #receive(text: string): void {
    if (text.length > MAX_REPLY_LENGTH) return;
    let reply: CommandReply;
    try {
      reply = JSON.parse(text) as CommandReply;
    } catch {
      return;
    }
    this.#waiting.get(reply?.id)?.(reply);
  }
}
