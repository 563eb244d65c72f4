import type { Logger } from '@gwk/core/log';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { Sealer } from '@gwk/core/encryption';

/** The part of a node-redis client that makes users. */
export interface AdminRedis {
  readonly isReady: boolean;
  sendCommand(command: string[]): Promise<unknown>;
}

/** What an engine does in Redis: reads and acknowledges its streams, answers commands, shows that it lives. */
const COMMANDS = [
  'xreadgroup',
  'xack',
  'xdel',
  'xgroup|create',
  'xautoclaim',
  'publish',
  'set',
  'time',
  'ping',
  'hello',
  'auth',
  'quit',
  'client|setname',
  'select',
];
const ANSWER_WITHIN_MS = 1_000;

/** Where an engine finds Redis, and as whom. */
export interface EngineRedis {
  url: string;
  username: string | null;
  password: string | null;
  key_prefix: string;
  /** Certificate authority (PEM). */
  ca?: string;
}

export interface RedisUsersOptions {
  /** Of the API itself, with credentials. */
  redisUrl: string;
  /** As engines reach it. */
  engineRedisUrl: string | undefined;
  prefix: string;
  /** Off: engines share the API's credentials, and commands are told from forgeries by their signature alone. */
  acl: boolean;
  /** What engines check a rediss:// address against. */
  ca?: string | undefined;
}

/**
 * The Redis users of engines: each reaches the keys and channels of its own instance and no others. The password
 * follows from the lease, so that a user that Redis forgot is made again as it was.
 */
export class RedisUsers {
  readonly #keys: RedisKeys;

  constructor(
    private readonly redis: AdminRedis,
    private readonly sealer: Sealer,
    private readonly options: RedisUsersOptions,
    private readonly log: Logger,
  ) {
    this.#keys = new RedisKeys(options.prefix);
  }

  /** For the engine that has just acquired. Older connections of the instance are cut where Redis can be reached. */
  async grant(instanceId: string, lease: { epoch: number; holder: string }): Promise<EngineRedis> {
    if (this.options.acl) await this.#make(instanceId, lease, { cutOthers: true });
    return this.#address(instanceId, lease);
  }

  /** Makes the user of the present lease again. False while Redis is out of reach. */
  async restore(instanceId: string, lease: { epoch: number; holder: string }): Promise<boolean> {
    return !this.options.acl || this.#make(instanceId, lease, { cutOthers: false });
  }

  /** The instance is gone, and with it its user and what Redis kept of it. */
  async remove(instanceId: string): Promise<void> {
    const keys = [
      this.#keys.sends(instanceId),
      this.#keys.commands(instanceId),
      this.#keys.heartbeat(instanceId),
    ];
    if (this.options.acl) await this.#send(instanceId, ['ACL', 'DELUSER', this.#keys.engineUser(instanceId)]);
    await this.#send(instanceId, ['DEL', ...keys]);
  }

  #address(instanceId: string, lease: { epoch: number; holder: string }): EngineRedis {
    const own = new URL(this.options.redisUrl);
    const shared = { username: decode(own.username), password: decode(own.password) };
    own.username = '';
    own.password = '';
    const [password] = this.#passwords(instanceId, lease);
    const user = { username: this.#keys.engineUser(instanceId), password: password! };
    return {
      url: this.options.engineRedisUrl ?? own.href,
      ...(this.options.acl ? user : shared),
      key_prefix: this.options.prefix,
      ...(this.options.ca !== undefined && { ca: this.options.ca }),
    };
  }

  /** Under every key: an engine keeps what it was told, also while keys are rotated. */
  #passwords(instanceId: string, lease: { epoch: number; holder: string }): string[] {
    const digests = this.sealer.fingerprints(instanceId, 'redis user', `${lease.epoch} ${lease.holder}`);
    return digests.map((digest) => digest.toString('hex'));
  }

  async #make(
    instanceId: string,
    lease: { epoch: number; holder: string },
    { cutOthers }: { cutOthers: boolean },
  ): Promise<boolean> {
    const user = this.#keys.engineUser(instanceId);
    const own = this.#keys.instance(instanceId);
    if (cutOthers) await this.#send(instanceId, ['ACL', 'DELUSER', user]);
    const passwords = this.#passwords(instanceId, lease).map((password) => `>${password}`);
    const rules = ['reset', 'on', ...passwords, `~${own}*`, `&${own}*`];
    return this.#send(instanceId, ['ACL', 'SETUSER', user, ...rules, ...COMMANDS.map((name) => `+${name}`)]);
  }

  /** Never waits for a Redis that is away: the engine asks again (`redis-user`) once it is back. */
  async #send(instanceId: string, command: string[]): Promise<boolean> {
    if (!this.redis.isReady) return false;
    const late = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const answer = this.redis.sendCommand(command);
    try {
      await Promise.race([
        answer,
        new Promise((_, reject) =>
          late.addEventListener('abort', () => reject(new Error('no answer from Redis'))),
        ),
      ]);
      return true;
    } catch (error) {
      answer.catch(() => undefined);
      this.log.warn(
        { instance: instanceId, command: command[0], err: error },
        'a Redis user was not changed',
      );
      return false;
    }
  }
}

function decode(part: string): string | null {
  return part === '' ? null : decodeURIComponent(part);
}
