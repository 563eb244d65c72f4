import { randomBytes, randomInt } from 'node:crypto';
import { openDatabase, type Database } from '@gwk/api/database/database';
import type { Prisma } from '@gwk/api/generated/prisma/client';
import { Acceptor, type AcceptedMessage } from '@gwk/api/messages/send/acceptor';
import { SendNotifier } from '@gwk/api/messages/send-notifier';
import { closeRedis, openRedis, type Redis } from '@gwk/api/platform/redis';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { createLogger } from '@gwk/core/process/log';
import type { PolicyOverrides } from '@gwk/api/policy/policy';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { Sealer } from '@gwk/core/crypto/encryption';
import { createTestDatabase } from '../servers/database.js';
import { redisPrefix, redisUrl } from '../servers/servers.js';

/** Database with one account and its instances. Each acceptor on it stands for one API replica, without HTTP. */
export interface World {
  database: Database;
  databaseUrl: string;
  accountId: string;
  /** UUIDs. */
  instances: string[];
  sealer: Sealer;
  keys: RedisKeys;
  redis: Redis;
  /** Creates an acceptor, as one more replica. */
  acceptor(options?: AcceptorSettings): Acceptor;
  /** Sends as the account's unrestricted key. */
  send(acceptor: Acceptor, send: Send): Promise<Sent>;
  addInstance(values?: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

export interface AcceptorSettings {
  redis?: Redis;
  policy?: PolicyOverrides;
  /** Runs before each statement of the acceptor, to change data between gathering and writing. */
  beforeStatement?: (sql: string) => unknown;
  newMessageId?: () => string;
}

export interface Send {
  instance?: string;
  to?: string;
  text?: string;
  key?: string;
  extra?: Record<string, unknown>;
}

/** `body`: JSON of the response. */
export type Sent = AcceptedMessage & { body: string };

export async function createWorld(instances = 1): Promise<World> {
  const test = await createTestDatabase();
  const database = openDatabase({ url: test.url, poolSize: 8, program: 'test' });
  const log = createLogger('test', 'error');
  const redis = openRedis({ url: redisUrl(), program: 'test', log });
  await waitUntilReady(redis);
  const sealer = new Sealer([{ id: '0123456789abcdef', key: randomBytes(32) }]);
  const world = await TestWorld.create(
    { database, databaseUrl: test.url, redis, sealer, keys: new RedisKeys(redisPrefix()) },
    async () => {
      closeRedis(redis);
      await database.$disconnect();
      await test.drop();
    },
  );
  for (let i = 0; i < instances; i++) await world.addInstance();
  return world;
}

/** Adds an account to a world. Closing it keeps the world's stores open. */
export const addAccount = (world: World): Promise<World> => TestWorld.create(world, () => Promise.resolve());

type Stores = Pick<World, 'database' | 'databaseUrl' | 'redis' | 'sealer' | 'keys'>;

class TestWorld implements World {
  readonly accountId = newUuid();
  readonly instances: string[] = [];
  readonly keys: RedisKeys;
  readonly sealer: Sealer;
  readonly database: Database;
  readonly databaseUrl: string;
  readonly redis: Redis;

  private constructor(
    { database, databaseUrl, redis, sealer, keys }: Stores,
    readonly close: () => Promise<void>,
  ) {
    this.databaseUrl = databaseUrl;
    this.sealer = sealer;
    this.keys = keys;
    this.database = database;
    this.redis = redis;
  }

  static async create(stores: Stores, close: () => Promise<void>): Promise<TestWorld> {
    const world = new TestWorld(stores, close);
    await world.database.account.create({ data: { id: world.accountId, name: world.accountId } });
    return world;
  }

  acceptor({ redis = this.redis, policy = {}, ...more }: AcceptorSettings = {}): Acceptor {
    const { beforeStatement, newMessageId } = more;
    return new Acceptor({
      database: beforeStatement ? interrupted(this.database, beforeStatement) : this.database,
      sealer: this.sealer,
      sendNotifier: new SendNotifier(redis, this.keys),
      environmentPolicy: policy,
      newMessageId,
    });
  }

  async send(
    acceptor: Acceptor,
    { instance = this.instances[0]!, to = '5511999990001', text = 'hello', key, extra }: Send,
  ): Promise<Sent> {
    const body = {
      instance_id: toPublicId('instance', instance),
      to,
      type: 'text',
      text: { body: text },
      ...extra,
    };
    const caller = { accountId: this.accountId, instances: null, suspended: false };
    const accepted = await acceptor.accept({ body, idempotencyKey: key }, caller);
    return { ...accepted, body: JSON.stringify(accepted.message) };
  }

  async addInstance(values: Record<string, unknown> = {}): Promise<string> {
    const id = newUuid();
    await this.database.instance.create({
      data: {
        id,
        accountId: this.accountId,
        name: id,
        kind: 'web',
        environment: 'test',
        interactiveMode: 'native+text',
        resourceNamespace: 'default',
        resourceName: id,
        resourceUid: id,
        resourceGeneration: 1,
        state: 'connected',
        stateChangedAt: new Date(),
        firstPairedAt: new Date(0),
        commandKeySealed: Buffer.alloc(1),
        counters: { create: {} },
        ...values,
      },
    });
    this.instances.push(id);
    return id;
  }
}

function interrupted(database: Database, beforeStatement: (sql: string) => unknown): Database {
  return new Proxy(database, {
    get(target, name) {
      if (name !== 'queryRows' && name !== 'callFunction') return Reflect.get(target, name) as unknown;
      return async (statement: string | Prisma.Sql, ...values: unknown[]): Promise<unknown> => {
        await beforeStatement(typeof statement === 'string' ? statement : statement.sql);
        return (target[name] as (...all: unknown[]) => Promise<unknown>)(statement, ...values);
      };
    },
  });
}

async function waitUntilReady(redis: Redis): Promise<void> {
  while (!redis.isReady) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Returns the code of the refusal, or `accepted`. */
export async function readOutcome(sent: Promise<Sent>): Promise<string> {
  try {
    await sent;
    return 'accepted';
  } catch (error) {
    return (error as { code?: string }).code ?? 'unknown';
  }
}

/** Returns a random phone number. */
export const someone = (): string => `5511${String(900_000_000 + randomInt(99_999_999))}`;

export const people = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `551197${String(1_000_000 + i)}`);

export function toUuid(publicId: string): string {
  return publicId.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** Returns the id of the account's contact with this canonical name. */
export async function findContactId(world: World, name: string): Promise<string> {
  const where = { accountId: world.accountId, name };
  return (await world.database.contactName.findFirstOrThrow({ where })).contactId;
}

export async function optOut(world: World, contactId: string): Promise<void> {
  await world.database.optOut.create({
    data: { contactId, id: newUuid(), accountId: world.accountId, source: 'api' },
  });
}
