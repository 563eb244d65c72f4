import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '@gwk/core/clock';
import { apiSettings } from '@gwk/api/config/api';
import { loadConfig } from '@gwk/core/config/load';
import { newUuid } from '@gwk/core/ids/ids';
import { createLogger } from '@gwk/core/process/log';
import { SCOPES, type Scope } from '@gwk/core/scopes';
import { newApiKey } from '@gwk/api/accounts/api-keys';
import { openDatabase, type Database } from '@gwk/api/database/database';
import { startApi, type RunningApi } from '@gwk/api/programs/api';
import type { DestinationStream } from 'pino';
import { ApiClient } from './client.js';
import { ClusterServer } from './cluster-server.js';
import { FakeEngine } from './fake-engine.js';

/** API processes of one gateway, run in this process on given stores. */
export interface TestApiOptions {
  databaseUrl: string;
  redisUrl: string;
  redisPrefix: string;
  settings?: Record<string, string>;
  logLevel?: string;
  /** Receives the log instead of standard output. */
  logTo?: DestinationStream;
  /** Defaults to the process clock. */
  clock?: Clock;
  /** Closes everything that was opened for the API. */
  afterStop?(): Promise<void>;
}

export interface TestAccount {
  id: string;
  name: string;
}

const CLUSTER_TOKEN = 'cluster-token-of-a-test';

export class TestApi {
  readonly cluster = new ClusterServer(CLUSTER_TOKEN);
  readonly encryptionKeys = randomBytes(32).toString('base64');
  readonly operatorToken = randomBytes(24).toString('hex');
  readonly mediaFolder = mkdtempSync(join(tmpdir(), 'gwk-media-'));
  readonly #clients: ApiClient[] = [];
  readonly #engines: FakeEngine[] = [];
  readonly #running: RunningApi[] = [];
  readonly db: Database;

  private constructor(readonly options: TestApiOptions) {
    this.db = openDatabase({ url: options.databaseUrl, poolSize: 2, program: 'test' });
  }

  static async start(options: TestApiOptions): Promise<TestApi> {
    const api = new TestApi(options);
    await api.cluster.start();
    await api.addReplica();
    return api;
  }

  get port(): number {
    return this.running.port;
  }

  /** The first replica. */
  get running(): RunningApi {
    return this.#running[0]!;
  }

  async addReplica(settings: Record<string, string> = {}): Promise<RunningApi> {
    const { databaseUrl, redisUrl, redisPrefix } = this.options;
    const config = loadConfig(apiSettings, {
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      GWK_REDIS_PREFIX: redisPrefix,
      GWK_ENCRYPTION_KEYS: this.encryptionKeys,
      GWK_OPERATOR_TOKEN: this.operatorToken,
      GWK_API_CLUSTER_URL: this.cluster.url,
      GWK_API_CLUSTER_TOKEN: CLUSTER_TOKEN,
      GWK_API_HOST: '127.0.0.1',
      GWK_API_PORT: '0',
      GWK_API_METRICS_PORT: '0',
      GWK_API_INTERNAL_HOST: '127.0.0.1',
      GWK_API_INTERNAL_PORT: '0',
      GWK_API_DOCS_URL: 'https://docs.example.org',
      GWK_MEDIA_FOLDER: this.mediaFolder,
      // The smallest, so that tests of the limit send few bytes.
      GWK_MEDIA_MAX_MB: '64',
      GWK_API_STOP_UNREADY_MS: '0',
      GWK_API_STOP_IDLE_MS: '0',
      ...this.options.settings,
      ...settings,
    });
    const log = createLogger('api', this.options.logLevel ?? 'silent', this.options.logTo);
    const running = await startApi(config, log, new AbortController().signal, this.options.clock);
    this.#running.push(running);
    return running;
  }

  async stop(): Promise<void> {
    try {
      for (const engine of this.#engines) await engine.stop();
      for (const client of this.#clients) client.close();
      await Promise.all(this.#running.map((running) => running.stop()));
      await this.cluster.stop();
      await this.db.$disconnect();
      rmSync(this.mediaFolder, { recursive: true, force: true });
    } finally {
      await this.options.afterStop?.();
    }
  }

  /** Starts a fake engine that holds the lease of an instance (`ins_...`). */
  async engine(instanceId: string): Promise<FakeEngine> {
    const { internalPort } = this.#running[0]!;
    const place = { ...this.options, internalPort, operatorToken: this.operatorToken };
    const engine = await FakeEngine.start(place, instanceId);
    this.#engines.push(engine);
    return engine;
  }

  async account(limits: { maxInstances?: number; requestsPerMinute?: number } = {}): Promise<TestAccount> {
    const id = newUuid();
    const name = `account-${id}`;
    await this.db.account.create({ data: { id, name, requestsPerMinute: 1_000_000, ...limits } });
    return { id, name };
  }

  async key(
    account: TestAccount,
    options: { scopes?: readonly Scope[]; instances?: string[] } = {},
  ): Promise<{ id: string; key: string }> {
    const { key, hash } = newApiKey();
    const id = newUuid();
    await this.db.apiKey.create({
      data: {
        id,
        accountId: account.id,
        name: 'test',
        hash: new Uint8Array(hash),
        scopes: [...(options.scopes ?? SCOPES)],
        restricted: options.instances !== undefined,
        instances: { create: (options.instances ?? []).map((instanceId) => ({ instanceId })) },
      },
    });
    return { id, key };
  }

  client(apiKey: string | null, port = this.port): ApiClient {
    const client = new ApiClient(port, apiKey);
    this.#clients.push(client);
    return client;
  }

  async clientOf(
    account: TestAccount,
    options: { scopes?: readonly Scope[]; instances?: string[] } = {},
  ): Promise<ApiClient> {
    return this.client((await this.key(account, options)).key);
  }
}
