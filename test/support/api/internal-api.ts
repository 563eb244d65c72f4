import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newCommandKey } from '@gwk/api/instances/command-key';
import { startInternalListener, type InternalListener } from '@gwk/api/internal-api/listener';
import type { InternalConfig, InternalDeps } from '@gwk/api/engines/dependencies';
import { openDatabase, type Database } from '@gwk/api/database/database';
import { MediaFiles } from '@gwk/api/media/files';
import { FolderStore } from '@gwk/api/media/store/folder-store';
import { createLogger, type Logger } from '@gwk/core/log';
import { isNumberedRoute } from '@gwk/core/protocol/numbered-routes';
import type {
  EngineRequest,
  EngineResponse,
  EngineRoute,
  LeaseIdentity,
  CallBody,
} from '@gwk/core/protocol/engine';
import { EngineClient, InternalApiRefusal, OperatorClient } from '@gwk/core/protocol/internal-client';
import type { Sealer } from '@gwk/core/encryption';
import type { DestinationStream } from 'pino';
import { addAccount, createWorld, type Send, type World } from './acceptance.js';
import { endWithWorker } from '../shared.js';
import { redisUrl } from '../servers/servers.js';

/** The internal port on a world's database and Redis, with engines that speak its protocol and nothing more. */
export interface InternalApiWorld {
  world: World;
  url: string;
  operator: OperatorClient;
  /** Accepts a text and returns the message's UUID. */
  accept(send: Send): Promise<string>;
  /** An instance with a pod that has a token and no lease. */
  addEngine(values?: Record<string, unknown>): Promise<TestEngine>;
  /** Another pod for an instance that is there. */
  addPod(instanceId: string, pod?: string): Promise<TestEngine>;
  /** A client of the engine routes with any token; of a replica, where its address is given. */
  clientWith(token: string, baseUrl?: string): EngineClient;
  /** One more replica of the port, on the same database. */
  addReplica(config?: Partial<InternalConfig>, now?: InternalDeps['now']): Promise<string>;
  close(): Promise<void>;
}

/** Of one call: only a hang meets it. */
const CALL_TIMEOUT_MS = 120_000;

export const OPERATOR_TOKEN = 'operator-token-of-the-tests-0123456789';

export interface InternalApiOptions {
  config?: Partial<InternalConfig>;
  redis?: InternalDeps['redis'];
  live?: InternalDeps['live'];
  log?: DestinationStream;
  silenceMs?: number;
}

/** As while Redis is away: engines find what is wanted by themselves. */
export const NO_LIVE_ENGINES: InternalDeps['live'] = { ask: () => Promise.resolve(null) };

/** Limits are not what these tests are about. */
const UNLIMITED = { new_contacts_per_day: 100_000, mass_block: { max_contacts: 10_000 } };

/** Files in a folder of the test's own. */
export function filesIn(folder: string, db: Database, sealer: Sealer): MediaFiles {
  return new MediaFiles({ db, sealer, store: new FolderStore(folder) });
}

export async function createInternalApiWorld(options: InternalApiOptions = {}): Promise<InternalApiWorld> {
  return openInternalApi(await createWorld(0), options);
}

let shared: Promise<InternalApiWorld> | undefined;

/**
 * The port with default options that all test files of a worker share, for an account of the caller's own. To close
 * it ends what the caller made.
 */
export async function sharedInternalApi(): Promise<InternalApiWorld> {
  shared ??= createInternalApiWorld().then((port) => {
    endWithWorker(() => port.close());
    return port;
  });
  const { world, url } = await shared;
  return openInternalApi(await addAccount(world), {}, url);
}

interface Replica {
  listener: InternalListener;
  database: Database;
}

type AddReplica = Parameters<InternalApiWorld['addReplica']>;

async function startReplica(
  world: World,
  options: InternalApiOptions,
  {
    mediaFolder,
    config,
    now,
  }: { mediaFolder: string; config: NonNullable<AddReplica[0]>; now: AddReplica[1] },
): Promise<Replica> {
  const database = openDatabase({ url: world.databaseUrl, poolSize: 16, program: 'port' });
  const listener = await startInternalListener({
    config: { ...configOf(world), ...options.config, ...config },
    environmentPolicy: {},
    database,
    redis: options.redis ?? world.redis,
    sealer: world.sealer,
    media: { files: filesIn(mediaFolder, database, world.sealer) },
    live: options.live ?? NO_LIVE_ENGINES,
    log: logTo(options.log),
    ...(options.silenceMs !== undefined && { silenceMs: options.silenceMs }),
    ...(now && { now }),
  });
  return { listener, database };
}

/** @param present the address of the port, where it has been started */
async function openInternalApi(
  world: World,
  options: InternalApiOptions,
  present?: string,
): Promise<InternalApiWorld> {
  const replicas: Replica[] = [];
  const mediaFolder = mkdtempSync(join(tmpdir(), 'gwk-media-'));
  const addReplica: InternalApiWorld['addReplica'] = async (config = {}, now) => {
    const replica = await startReplica(world, options, { mediaFolder, config, now });
    replicas.push(replica);
    return `${config.internalTlsCert?.() ? 'https' : 'http'}://127.0.0.1:${replica.listener.port}/`;
  };
  const url = present ?? (await addReplica());
  const operator = new OperatorClient({ baseUrl: url, token: OPERATOR_TOKEN, timeoutMs: CALL_TIMEOUT_MS });
  const engines: EngineClient[] = [];
  const acceptor = world.acceptor({ policy: UNLIMITED });
  const port: InternalApiWorld = {
    world,
    url,
    operator,
    addReplica,
    clientWith(token, baseUrl = url) {
      const client = new EngineClient({ baseUrl, token, timeoutMs: CALL_TIMEOUT_MS });
      engines.push(client);
      return client;
    },
    async accept(send) {
      const { message } = await world.send(acceptor, send);
      return message.id.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    },
    async addEngine(values) {
      const id = await world.addInstance({ lease: { create: {} }, ...values });
      const commandKeySealed = new Uint8Array(newCommandKey(world.sealer, id));
      await world.database.instance.update({ where: { id }, data: { commandKeySealed } });
      return port.addPod(id);
    },
    async addPod(instanceId, pod = 'pod-1') {
      const { token } = await operator.call('issue-token', { instance_id: instanceId, pod });
      return new TestEngine(port.clientWith(token), instanceId, pod, token);
    },
    async close() {
      operator.close();
      for (const client of engines) client.close();
      for (const replica of replicas) await closeReplica(replica);
      await world.close();
      rmSync(mediaFolder, { recursive: true, force: true });
    },
  };
  return port;
}

/** The same engine, under its lease, as one more replica meets it. */
export async function atReplica(
  port: InternalApiWorld,
  { instanceId, pod, token, lease }: TestEngine,
): Promise<TestEngine> {
  const client = port.clientWith(token, await port.addReplica());
  return new TestEngine(client, instanceId, pod, token).with(lease);
}

async function closeReplica(replica: Replica): Promise<void> {
  await replica.listener.close();
  await replica.database.$disconnect();
}

function logTo(log: DestinationStream | undefined): Logger {
  return createLogger('port', log ? 'info' : (process.env['TEST_PORT_LOG'] ?? 'fatal'), log);
}

function configOf(world: World): InternalConfig {
  return {
    internalHost: '127.0.0.1',
    internalPort: 0,
    internalMaxConnections: 1_000,
    internalTlsCert: () => undefined,
    internalTlsKey: () => undefined,
    operatorToken: OPERATOR_TOKEN,
    leaseMs: 45_000,
    leaseRenewMs: 10_000,
    redisUrl: redisUrl(),
    redisCa: undefined,
    redisPrefix: world.keys.instance('').slice(0, -'i::'.length),
    engineRedisUrl: undefined,
    redisAcl: true,
    environment: 'test',
    clusterNamespace: 'default',
    maxInstances: 10,
  };
}

type Report = CallBody<'outcomes'>['outcomes'][number];
type Returned = Extract<Report, { kind: 'returned' }>;
/** Given back is what was claimed last, where nothing else is said. */
type Reported = Exclude<Report, Returned> | (Omit<Returned, 'claim_id'> & { claim_id?: string });

export class TestEngine {
  lease: LeaseIdentity = { epoch: 0, holder: '00000000-0000-4000-8000-000000000000' };
  terms: EngineResponse<'acquire'> | undefined;
  /** Of the last call: each has the next, whatever its route. */
  number = 0;
  readonly #claims = new Map<string, string>();

  constructor(
    readonly client: EngineClient,
    readonly instanceId: string,
    readonly pod: string,
    readonly token: string,
  ) {}

  async acquire(): Promise<this> {
    this.terms = await this.client.call('acquire', { pod: this.pod, version: 'test' });
    this.lease = { epoch: this.terms.epoch, holder: this.terms.holder };
    return this;
  }

  /** The same, claiming another lease. */
  with(lease: LeaseIdentity): this {
    this.lease = lease;
    return this;
  }

  call<R extends EngineRoute>(route: R, body: CallBody<R>): Promise<EngineResponse<R>> {
    return this.repeat(route, body, ++this.number);
  }

  /** The call of this number: what it says is as new as that. */
  repeat<R extends EngineRoute>(route: R, body: CallBody<R>, number: number): Promise<EngineResponse<R>> {
    const numbered = isNumberedRoute(route) ? { number } : {};
    return this.client.call(route, { ...body, ...numbered, ...this.lease } as EngineRequest<R>);
  }

  async claim(
    limit = 100,
    claimId: string = crypto.randomUUID(),
    number = ++this.number,
    repeated = false,
  ): Promise<EngineResponse<'claims'>['messages']> {
    const { messages } = await this.repeat('claims', { claim_id: claimId, limit, repeated }, number);
    for (const { message_id } of messages) this.#claims.set(message_id, claimId);
    return messages;
  }

  async build(...messageIds: string[]): Promise<string[]> {
    const messages = messageIds.map((id) => {
      return { message_id: id, built: Buffer.from(`built ${id}`).toString('base64'), rendered_as: null };
    });
    return (await this.call('built', { messages })).stored;
  }

  async report(...reported: Reported[]): Promise<void> {
    const outcomes = reported.map((one): Report => {
      if (one.kind !== 'returned') return one;
      return { ...one, claim_id: one.claim_id ?? this.#claims.get(one.message_id)! };
    });
    await this.call('outcomes', { outcomes });
  }

  sent(messageId: string): Promise<void> {
    return this.report({
      kind: 'sent',
      message_id: messageId,
      at: new Date().toISOString(),
      rendered_as: null,
    });
  }
}

/** The code of a refusal, or `answered`. */
export async function readRefusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'answered';
  } catch (error) {
    if (error instanceof InternalApiRefusal) return error.refusal;
    throw error;
  }
}
