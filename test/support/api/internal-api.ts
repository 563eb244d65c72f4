import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newCommandKey } from '@gwk/api/engine-commands/commands';
import { startInternalListener } from '@gwk/api/internal-api/listener';
import type { InternalDeps } from '@gwk/api/engines/dependencies';
import type { ApiConfig } from '@gwk/api/http/services';
import { openDatabase, type Database } from '@gwk/api/database/database';
import { MediaFiles } from '@gwk/api/media/files';
import { FolderStore } from '@gwk/api/media/store/folder-store';
import { openTransfers, type MediaTransfers } from '@gwk/api/media/transfers/media-transfers';
import { processClock, type Clock } from '@gwk/core/clock';
import { createLogger, type Logger } from '@gwk/core/process/log';
import { MEGABYTE } from '@gwk/core/resources/media';
import { isNumberedRoute } from '@gwk/core/protocol/numbered-routes';
import type {
  EngineRequest,
  EngineResponse,
  EngineRoute,
  LeaseIdentity,
  CallBody,
} from '@gwk/core/protocol/engine';
import { EngineClient, InternalApiRefusal, OperatorClient } from '@gwk/core/protocol/internal-client';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { DestinationStream } from 'pino';
import { Registry } from 'prom-client';
import { addAccount, createWorld, type Send, type World } from './acceptance.js';
import { endWithWorker } from '../shared.js';
import { redisUrl } from '../servers/servers.js';

/** Internal API on the database and Redis of a world, with test engines that speak its protocol. */
export interface InternalApiWorld {
  world: World;
  url: string;
  operator: OperatorClient;
  /**
   * Accepts a text message.
   * @returns the UUID of the message
   */
  accept(send: Send): Promise<string>;
  /** Adds an instance and a pod with a token and no lease. */
  addEngine(values?: Record<string, unknown>): Promise<TestEngine>;
  /** Adds another pod for an existing instance. */
  addPod(instanceId: string, pod?: string): Promise<TestEngine>;
  /** Creates a client of the engine routes with any token. `baseUrl` selects a replica. */
  clientWith(token: string, baseUrl?: string): EngineClient;
  /** Starts one more replica of the internal API on the same database. */
  addReplica(config?: Partial<ApiConfig>, now?: InternalDeps['now']): Promise<string>;
  /** Stops the listeners that this world has started. */
  closeReplicas(): Promise<void>;
  close(): Promise<void>;
}

/** Timeout of one call. Only a hang reaches it. */
const CALL_TIMEOUT_MS = 120_000;

export const OPERATOR_TOKEN = 'operator-token-of-the-tests-0123456789';

export interface InternalApiOptions {
  config?: Partial<ApiConfig>;
  redis?: InternalDeps['redis'];
  live?: InternalDeps['live'];
  log?: DestinationStream;
  silenceMs?: number;
  transfers?: MediaTransfers;
}

/** Behaves as if Redis were unavailable: no engine answers, so engines poll for requests. */
export const NO_LIVE_ENGINES: InternalDeps['live'] = { ask: () => Promise.resolve(null) };

/** High limits, because these tests do not cover limits. */
const UNLIMITED = { new_contacts_per_day: 100_000, mass_block: { max_contacts: 10_000 } };

export const NO_ACCOUNT_LIMITS = { accountMediaBytes: 1e12, accountMediaFiles: 1e6, accountEventBytes: 1e12 };

/** Media files in a folder of the test. */
export function filesIn(folder: string, db: Database, sealer: Sealer): MediaFiles {
  const store = new FolderStore(folder);
  return new MediaFiles({ db, sealer, store, limits: NO_ACCOUNT_LIMITS, maxBytes: 100 * MEGABYTE });
}

export const newTransfers = (clock: Clock = processClock): MediaTransfers =>
  openTransfers({ maxDownloads: 100, maxUploads: 100, mediaMaxMb: 100 }, clock, new Registry());

export async function createInternalApiWorld(options: InternalApiOptions = {}): Promise<InternalApiWorld> {
  return openInternalApi(await createWorld(0), options);
}

let shared: Promise<InternalApiWorld> | undefined;

/**
 * Internal API with default options, shared by all test files of a jest worker. Each caller gets an account of its own;
 * close() removes only that.
 */
export async function sharedInternalApi(): Promise<InternalApiWorld> {
  shared ??= createInternalApiWorld().then((internalApi) => {
    endWithWorker(() => internalApi.close());
    return internalApi;
  });
  const { world, url } = await shared;
  return openInternalApi(await addAccount(world), {}, url);
}

interface Replica {
  listener: Awaited<ReturnType<typeof startInternalListener>>;
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
  const database = openDatabase({ url: world.databaseUrl, poolSize: 16, program: 'internal-api' });
  const listener = await startInternalListener({
    config: { ...configOf(world), ...options.config, ...config },
    environmentPolicy: {},
    database,
    redis: options.redis ?? world.redis,
    sealer: world.sealer,
    media: { files: filesIn(mediaFolder, database, world.sealer) },
    acceptor: world.acceptor(),
    transfers: options.transfers ?? newTransfers(),
    live: options.live ?? NO_LIVE_ENGINES,
    log: logTo(options.log),
    ...(options.silenceMs !== undefined && { silenceMs: options.silenceMs }),
    ...(now && { now }),
  });
  return { listener, database };
}

/** @param present URL of the running internal API, if it has been started */
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
  const internalApi: InternalApiWorld = {
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
      return internalApi.addPod(id);
    },
    async addPod(instanceId, pod = 'pod-1') {
      const { token } = await operator.call('issue-token', { instance_id: instanceId, pod });
      return new TestEngine(internalApi.clientWith(token), instanceId, pod, token);
    },
    async closeReplicas() {
      for (const replica of replicas.splice(0)) await closeReplica(replica);
    },
    async close() {
      operator.close();
      for (const client of engines) client.close();
      await internalApi.closeReplicas();
      await world.close();
      rmSync(mediaFolder, { recursive: true, force: true });
    },
  };
  return internalApi;
}

/** Returns the same engine with its lease, connected to a new replica. */
export async function atReplica(
  internalApi: InternalApiWorld,
  { instanceId, pod, token, lease }: TestEngine,
): Promise<TestEngine> {
  const client = internalApi.clientWith(token, await internalApi.addReplica());
  return new TestEngine(client, instanceId, pod, token).with(lease);
}

async function closeReplica(replica: Replica): Promise<void> {
  await replica.listener.close();
  await replica.database.$disconnect();
}

function logTo(log: DestinationStream | undefined): Logger {
  return createLogger('internal-api', log ? 'info' : (process.env['TEST_INTERNAL_API_LOG'] ?? 'fatal'), log);
}

function configOf(world: World): ApiConfig {
  const config: Partial<ApiConfig> = {
    internalHost: '127.0.0.1',
    internalPort: 0,
    internalMaxConnections: 1_000,
    maxSessionMb: 128,
    internalTlsCert: () => undefined,
    internalTlsKey: () => undefined,
    operatorToken: OPERATOR_TOKEN,
    console: true,
    baseUrl: 'https://gwk.example.org',
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
  return config as ApiConfig;
}

type Report = CallBody<'outcomes'>['outcomes'][number];
type Returned = Extract<Report, { kind: 'returned' }>;
/** For `returned`, the claim id defaults to that of the last claim. */
type Reported = Exclude<Report, Returned> | (Omit<Returned, 'claim_id'> & { claim_id?: string });

export class TestEngine {
  lease: LeaseIdentity = { epoch: 0, holder: '00000000-0000-4000-8000-000000000000' };
  terms: EngineResponse<'acquire'> | undefined;
  /** Number of the last call. Calls of all routes share the sequence. */
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

  /** Uses another lease from now on. */
  with(lease: LeaseIdentity): this {
    this.lease = lease;
    return this;
  }

  call<R extends EngineRoute>(route: R, body: CallBody<R>): Promise<EngineResponse<R>> {
    return this.repeat(route, body, ++this.number);
  }

  /** Sends a call with this call number, to test repeated and late calls. */
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
    const { messages } = await this.repeat(
      'claims',
      { claim_id: claimId, limit, followers: true, repeated },
      number,
    );
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

/** Returns the code of the refusal, or `answered`. */
export async function readRefusal(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'answered';
  } catch (error) {
    if (error instanceof InternalApiRefusal) return error.refusal;
    throw error;
  }
}
