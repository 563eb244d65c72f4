import { withTimeout } from '@gwk/core/async/timeout';
import type { Logger } from '@gwk/core/process/log';
import type { EngineResponse, LeaseIdentity } from '@gwk/core/protocol/engine';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { ApiConfig } from '../http/services.js';

/** The part of a node-redis client that creates users. */
export interface AdminRedis {
  readonly isReady: boolean;
  sendCommand(command: string[]): Promise<unknown>;
}

/**
 * Commands an engine needs: it reads its streams and deletes entries, replies to commands and writes its heartbeat. None
 * of them stores a value of a size that the engine chooses, so a compromised engine cannot fill Redis.
 */
const COMMANDS = ['xread', 'xdel', 'publish', 'del', 'incrby', 'pexpire', 'time', 'select'];
const ANSWER_WITHIN_MS = 1_000;

/** Address and credentials of an engine. */
type EngineRedis = EngineResponse<'acquire'>['redis'];

/** `redisUrl` is the address of the API itself, with credentials, and the default of `engineRedisUrl`. */
type RedisConfig = Pick<ApiConfig, 'redisUrl' | 'engineRedisUrl' | 'redisPrefix' | 'redisAcl' | 'redisCa'>;

/**
 * The Redis users of engines: each can access only the keys and channels of its own lease. The password derives from the
 * lease, so a user that Redis lost is re-created with the same password.
 */
export class RedisUsers {
  readonly #keys: RedisKeys;

  constructor(
    private readonly redis: AdminRedis,
    private readonly sealer: Sealer,
    private readonly config: RedisConfig,
    private readonly log: Logger,
  ) {
    this.#keys = new RedisKeys(config.redisPrefix);
  }

  /** Creates the user of a new lease. Closes older connections of the instance if Redis is available. */
  async grant(instanceId: string, lease: LeaseIdentity): Promise<EngineRedis> {
    if (this.config.redisAcl) {
      const leftovers = await this.#removeUser(instanceId, lease.epoch - 1);
      await Promise.all([this.#send(instanceId, ['DEL', ...leftovers]), this.#make(instanceId, lease)]);
    }
    return this.#address(instanceId, lease);
  }

  /** Re-creates the user of the current lease. False if Redis is unavailable. */
  async restore(instanceId: string, lease: LeaseIdentity): Promise<boolean> {
    return !this.config.redisAcl || this.#make(instanceId, lease);
  }

  /** Removes the user of a deleted instance, and all keys that its last engine could write. */
  async remove(instanceId: string, lastEpoch: number): Promise<void> {
    if (this.config.redisAcl)
      await this.#send(instanceId, ['ACL', 'DELUSER', this.#keys.engineUser(instanceId)]);
    await this.#send(instanceId, ['DEL', ...this.#keys.engineKeys(instanceId, lastEpoch)]);
  }

  /**
   * Closes the connections of older engines.
   * @returns the keys that they should not have left: a heartbeat without an expiry, an integer in the place of a stream
   */
  async #removeUser(instanceId: string, epoch: number): Promise<string[]> {
    const streams = [this.#keys.sends(instanceId), this.#keys.commands(instanceId)];
    const [, ...types] = await Promise.all([
      this.#send(instanceId, ['ACL', 'DELUSER', this.#keys.engineUser(instanceId)]),
      ...streams.map((key) => this.#send(instanceId, ['TYPE', key])),
    ]);
    const integers = streams.filter((_, index) => types[index] === 'string');
    return [this.#keys.alive(instanceId, epoch), this.#keys.connected(instanceId, epoch), ...integers];
  }

  #address(instanceId: string, lease: LeaseIdentity): EngineRedis {
    const own = new URL(this.config.redisUrl);
    const shared = { username: decode(own.username), password: decode(own.password) };
    own.username = '';
    own.password = '';
    const [password] = this.#passwords(instanceId, lease);
    const user = { username: this.#keys.engineUser(instanceId), password: password! };
    return {
      url: this.config.engineRedisUrl ?? own.href,
      // Without ACLs, engines share the API's credentials, and only the encryption of commands protects them.
      ...(this.config.redisAcl ? user : shared),
      key_prefix: this.config.redisPrefix,
      ...(this.config.redisCa !== undefined && { ca: this.config.redisCa }),
    };
  }

  /** Passwords under all encryption keys: an engine keeps its password during a key rotation. */
  #passwords(instanceId: string, lease: LeaseIdentity): string[] {
    const digests = this.sealer.fingerprints(instanceId, 'redis user', `${lease.epoch} ${lease.holder}`);
    return digests.map((digest) => digest.toString('hex'));
  }

  async #make(instanceId: string, lease: LeaseIdentity): Promise<boolean> {
    const user = this.#keys.engineUser(instanceId);
    const rules = [
      'reset',
      'on',
      ...this.#passwords(instanceId, lease).map((password) => `>${password}`),
      ...this.#keys.engineKeys(instanceId, lease.epoch).map((key) => `~${key}`),
      `&${this.#keys.engineChannels(instanceId)}`,
      ...COMMANDS.map((name) => `+${name}`),
    ];
    return (await this.#send(instanceId, ['ACL', 'SETUSER', user, ...rules])) !== null;
  }

  /**
   * Never waits for an unavailable Redis: the engine requests its user again (`redis-user`) when Redis is back.
   * @returns null if Redis did not do it
   */
  async #send(instanceId: string, command: string[]): Promise<unknown> {
    if (!this.redis.isReady) return null;
    try {
      return await withTimeout<unknown>(this.redis.sendCommand(command), ANSWER_WITHIN_MS, () => {
        throw new Error('no answer from Redis');
      });
    } catch (error) {
      this.log.warn({ instance: instanceId, command: command[0], err: error }, 'Redis user not changed');
      return null;
    }
  }
}

function decode(part: string): string | null {
  return part === '' ? null : decodeURIComponent(part);
}
