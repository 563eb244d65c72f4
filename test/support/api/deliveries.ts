import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openDatabase, type Database } from '@gwk/api/database/database';
import { newCommandKey } from '@gwk/api/engine-commands/commands';
import { emit } from '@gwk/api/events/emit';
import { startWorker, type DeliveryClock, type RunningWorker } from '@gwk/api/programs/worker';
import { sealWebhookSecret } from '@gwk/api/webhooks/secrets';
import { loadConfig } from '@gwk/core/config/load';
import { workerSettings } from '@gwk/api/config/worker';
import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { createLogger } from '@gwk/core/process/log';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { generateWebhookSecret } from '@gwk/api/webhooks/signature';
import type { WebhookDelivery, WebhookQueueEntry } from '@gwk/api/generated/prisma/client';
import { createTestDatabase, type TestDatabase } from '../servers/database.js';
import { idOlder } from '../servers/dated-ids.js';
import { endWithWorker } from '../shared.js';
import { until } from '../wait.js';
import { redisPrefix, redisUrl } from '../servers/servers.js';

/** Jobs write the audit log at every level. These tests print errors only. */
const ERRORS = {
  write: (line: string): void => {
    if (line.includes('"level":"error"')) process.stderr.write(line);
  },
};

export interface TestEndpoint {
  id: string;
  secret: string;
}

/** Jobs of webhooks. The first pass of all twenty jobs takes over a second of processor time. */
const JOBS = ['deliver', 'abandon', 'resend'];
const WAIT = { everyMs: 10 };
/** Longer than any test. */
const NEVER_MS = 3_600_000;

let shared: Promise<DeliveryWorld> | undefined;

/** Database with one account, its webhook endpoints and events, and workers on it. */
export class DeliveryWorld {
  readonly accountId = newUuid();
  readonly db: Database;
  readonly sealer: Sealer;
  /** Environment of a worker process in this world. */
  readonly environment: Record<string, string>;
  readonly #test: TestDatabase;
  readonly #workers: RunningWorker[] = [];
  readonly #destinations: TestReceiver[] = [];

  private constructor(test: TestDatabase) {
    const keys = randomBytes(32).toString('base64');
    this.#test = test;
    this.db = openDatabase({ url: test.url, poolSize: 6, program: 'test' });
    this.sealer = new Sealer(parseEncryptionKeys(keys));
    this.environment = {
      DATABASE_URL: test.url,
      REDIS_URL: redisUrl(),
      GWK_REDIS_PREFIX: redisPrefix(),
      GWK_ENCRYPTION_KEYS: keys,
      GWK_WORKER_HOST: '127.0.0.1',
      GWK_WORKER_PORT: '0',
      GWK_WORKER_LOOPBACK_WEBHOOKS: 'on',
    };
  }

  static async create(): Promise<DeliveryWorld> {
    const world = new DeliveryWorld(await createTestDatabase());
    await world.db.account.create({ data: { id: world.accountId, name: 'deliveries' } });
    return world;
  }

  /** One world for all test files of a jest worker. Each file resets it after its tests. */
  static shared(): Promise<DeliveryWorld> {
    shared ??= DeliveryWorld.create().then((world) => {
      endWithWorker(() => world.close());
      return world;
    });
    return shared;
  }

  /** Starts a worker. Its calls have no timeout unless `clock` sets one, because a busy machine may answer late. */
  async startWorker(
    settings: Record<string, string> = {},
    clock: DeliveryClock = {},
  ): Promise<RunningWorker> {
    const config = loadConfig(workerSettings, { ...this.environment, ...settings });
    const { signal } = new AbortController();
    const worker = await startWorker(config, createLogger('worker', 'error', ERRORS), signal, {
      timeoutMs: NEVER_MS,
      jobs: JOBS,
      ...clock,
    });
    this.#workers.push(worker);
    return worker;
  }

  /** Starts a webhook receiver that records every post. */
  async startReceiver(answer?: Answer): Promise<TestReceiver> {
    const started = await TestReceiver.start(answer);
    this.#destinations.push(started);
    return started;
  }

  async addEndpoint(url: string, values: Record<string, unknown> = {}): Promise<TestEndpoint> {
    const { accountId } = this;
    const [id, secret] = [newUuid(), generateWebhookSecret()];
    const secretSealed = sealWebhookSecret(this.sealer, accountId, secret);
    const secrets = { create: { id: newUuid(), secretSealed } };
    await this.db.webhookEndpoint.create({
      data: { id, accountId, url, eventTypes: [], secrets, ...values },
    });
    return { id, secret };
  }

  /** Adds an instance of the account, without an engine. */
  async addInstance(): Promise<string> {
    const id = newUuid();
    const commandKeySealed = new Uint8Array(newCommandKey(this.sealer, id));
    const spec = { name: id, kind: 'web', environment: 'test', interactiveMode: 'native' };
    const resource = {
      resourceNamespace: 'default',
      resourceName: id,
      resourceUid: id,
      resourceGeneration: 1,
    };
    const state = { state: 'disconnected', stateChangedAt: new Date() };
    const { accountId } = this;
    await this.db.instance.create({
      data: { id, accountId, commandKeySealed, ...spec, ...resource, ...state },
    });
    return id;
  }

  /**
   * Emits events in one transaction, with their deliveries.
   * @returns their public ids
   */
  async emit(
    amount = 1,
    data: Record<string, unknown> = {},
    instanceId: string | null = null,
  ): Promise<string[]> {
    const drafts = Array.from({ length: amount }, (_, index) => ({
      accountId: this.accountId,
      instanceId,
      type: 'webhook.test' as const,
      at: new Date(),
      data: { number: index, ...data },
    }));
    const ids = await this.db.$transaction((tx) => emit(tx, this.sealer, drafts));
    return ids.map((id) => toPublicId('event', id));
  }

  /** Returns the delivery log, oldest first. */
  deliveries(endpointId: string): Promise<WebhookDelivery[]> {
    return this.db.webhookDelivery.findMany({ where: { endpointId }, orderBy: { id: 'asc' } });
  }

  /** Waits until exactly `amount` deliveries have succeeded or failed. */
  finished(endpointId: string, amount = 1): Promise<WebhookDelivery[]> {
    const where = { endpointId, status: { not: 'pending' } };
    const look = async () => {
      if ((await this.db.webhookDelivery.count({ where })) !== amount) return undefined;
      return this.db.webhookDelivery.findMany({ where, orderBy: { id: 'asc' } });
    };
    return until(look, { what: `${amount} deliveries have ended`, ...WAIT });
  }

  /** Waits until a delivery has had this number of attempts. */
  attempted(endpointId: string, attempts = 1): Promise<WebhookDelivery> {
    const look = async () => (await this.deliveries(endpointId)).find((row) => row.attempts === attempts);
    return until(look, { what: `attempt ${attempts}`, ...WAIT });
  }

  inQueue(endpointId: string): Promise<WebhookQueueEntry[]> {
    return this.db.webhookQueueEntry.findMany({ where: { endpointId } });
  }

  /**
   * Makes all events and deliveries older by moving the time in their ids. Call it only before they are delivered,
   * because receivers see the ids.
   */
  async age(days: number): Promise<void> {
    const older = (column: string): string => idOlder(column, days);
    await this.db.$transaction([
      this.db.$executeRawUnsafe(
        `UPDATE events SET id = ${older('id')}, "timestamp" = "timestamp" - interval '${days} days'`,
      ),
      this.db.$executeRawUnsafe(
        `UPDATE webhook_deliveries SET id = ${older('id')}, event_id = ${older('event_id')},
           created_at = created_at - interval '${days} days'`,
      ),
      this.db.$executeRawUnsafe(
        `UPDATE webhook_queue SET delivery_id = ${older('delivery_id')}, event_id = ${older('event_id')}`,
      ),
    ]);
  }

  /** Makes every queued delivery due now. */
  async makeDue(): Promise<void> {
    await this.db.webhookQueueEntry.updateMany({ data: { dueAt: new Date(0) } });
  }

  /** Stops all workers and receivers, so that the next test starts clean. */
  async reset(): Promise<void> {
    // Calls without a response end when their receiver stops.
    await Promise.all([...this.#workers.splice(0), ...this.#destinations.splice(0)].map((one) => one.stop()));
    await this.#deleteRows();
  }

  /** Like `reset`, for tests that share a worker and have waited for their deliveries. */
  async clear(): Promise<void> {
    await Promise.all(this.#destinations.splice(0).map((one) => one.stop()));
    await this.#deleteRows();
  }

  async #deleteRows(): Promise<void> {
    await this.db.webhookEndpoint.deleteMany();
    await this.db.webhookQueueEntry.deleteMany();
    await this.db.webhookResend.deleteMany();
  }

  async close(): Promise<void> {
    await this.reset();
    await this.db.$disconnect();
    await this.#test.drop();
  }
}

export interface Post {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  at: number;
}

/** Answers a post. A response that it does not end stays open until the receiver stops. */
export type Answer = (res: ServerResponse, post: Post, nth: number) => void;

/** Webhook receiver of a test. It records every post. */
export class TestReceiver {
  readonly posts: Post[] = [];
  readonly #server: http.Server;
  #answer: Answer;

  private constructor(server: http.Server, answer: Answer) {
    this.#server = server;
    this.#answer = answer;
  }

  static async start(answer: Answer = (res) => res.writeHead(204).end()): Promise<TestReceiver> {
    const server = http.createServer();
    const receiver = new TestReceiver(server, answer);
    server.on('request', (req, res) => {
      let body = '';
      req.setEncoding('utf8');
      req.on('data', (chunk: string) => (body += chunk));
      req.on('error', () => undefined);
      res.on('error', () => undefined);
      req.on('end', () => {
        const post = { path: req.url ?? '', headers: req.headers, body, at: Date.now() };
        receiver.posts.push(post);
        receiver.#answer(res, post, receiver.posts.length);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  answerWith(answer: Answer): void {
    this.#answer = answer;
  }

  /** Returns the number of posts per event. */
  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { headers } of this.posts) {
      const id = String(headers['webhook-id']);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return counts;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Writes one byte at intervals until the stream closes. */
export function trickle(stream: NodeJS.WritableStream & { destroyed?: boolean }): void {
  const timer = setInterval(() => {
    if (stream.destroyed) clearInterval(timer);
    else stream.write('x');
  }, 20);
}
