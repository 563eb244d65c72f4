import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openDatabase, type Database } from '@gwk/api/database';
import { emit } from '@gwk/api/events/emit';
import { startWorker, type RunningWorker, type WorkerConfig } from '@gwk/api/worker/worker';
import { sealWebhookSecret } from '@gwk/api/webhooks/secrets';
import { loadConfig } from '@gwk/core/config/load';
import { workerSettings } from '@gwk/core/config/worker';
import { newUuid, toPublicId } from '@gwk/core/ids';
import { createLogger } from '@gwk/core/log';
import { parseSealingKeys, Sealer } from '@gwk/core/sealing';
import { newWebhookSecret } from '@gwk/core/webhook-signature';
import { createTestDatabase } from './database.js';
import { redisPrefix, redisUrl } from './servers.js';

/** A database with an account, its destinations and events, and workers on it: what a delivery needs, and no more. */
export interface DeliveryWorld {
  db: Database;
  sealer: Sealer;
  accountId: string;
  instanceId: string;
  /** What a worker process of this world is started with. */
  environment: Record<string, string>;
  addEndpoint(url: string, values?: Record<string, unknown>): Promise<TestEndpoint>;
  /** Events of one transaction, with their deliveries. Returns their public ids. */
  emit(amount?: number, data?: Record<string, unknown>): Promise<string[]>;
  startWorker(settings?: Record<string, string>): Promise<RunningWorker>;
  /** Ends the workers, so that a test begins alone. */
  stopWorkers(): Promise<void>;
  close(): Promise<void>;
}

export interface TestEndpoint {
  id: string;
  secret: string;
}

export async function createDeliveryWorld(): Promise<DeliveryWorld> {
  const test = await createTestDatabase();
  const db = openDatabase({ url: test.url, poolSize: 6, program: 'test' });
  const keys = randomBytes(32).toString('base64');
  const sealer = new Sealer(parseSealingKeys(keys));
  const [accountId, instanceId] = [newUuid(), newUuid()];
  const environment = {
    DATABASE_URL: test.url,
    REDIS_URL: redisUrl(),
    GWK_REDIS_PREFIX: redisPrefix(),
    GWK_SEALING_KEYS: keys,
    GWK_WORKER_HOST: '127.0.0.1',
    GWK_WORKER_PORT: '0',
    GWK_WORKER_LOOPBACK_WEBHOOKS: 'on',
  };
  await db.account.create({ data: { id: accountId, name: 'deliveries' } });
  const workers: RunningWorker[] = [];
  const stopWorkers = async (): Promise<void> => {
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  };
  return {
    db,
    sealer,
    accountId,
    instanceId,
    environment,
    stopWorkers,
    async addEndpoint(url, values = {}) {
      const [id, secret] = [newUuid(), newWebhookSecret()];
      const secretSealed = new Uint8Array(sealWebhookSecret(sealer, accountId, secret));
      const secrets = { create: { id: newUuid(), secretSealed } };
      await db.webhookEndpoint.create({ data: { id, accountId, url, eventTypes: [], secrets, ...values } });
      return { id, secret };
    },
    async emit(amount = 1, data = {}) {
      const drafts = Array.from({ length: amount }, (_, index) => ({
        accountId,
        instanceId: null,
        type: 'webhook.test' as const,
        at: new Date(),
        data: { number: index, ...data },
      }));
      const ids = await db.$transaction((tx) => emit(tx, sealer, drafts));
      return ids.map((id) => toPublicId('event', id));
    },
    async startWorker(settings = {}) {
      const config: WorkerConfig = loadConfig(workerSettings, { ...environment, ...settings });
      const log = createLogger('worker', 'error');
      const worker = await startWorker(config, log, new AbortController().signal);
      workers.push(worker);
      return worker;
    },
    async close() {
      await stopWorkers();
      await db.$disconnect();
      await test.drop();
    },
  };
}

export interface Post {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  at: number;
}

/** Answers a post in its own way; what it does not end stays open until the destination stops. */
export type Answer = (res: ServerResponse, post: Post, nth: number) => void;

/** A webhook destination of a test, which records every post. */
export class Destination {
  readonly posts: Post[] = [];
  readonly #server: http.Server;
  #answer: Answer;

  private constructor(server: http.Server, answer: Answer) {
    this.#server = server;
    this.#answer = answer;
  }

  static async start(answer: Answer = (res) => res.writeHead(204).end()): Promise<Destination> {
    const server = http.createServer();
    const destination = new Destination(server, answer);
    server.on('request', (req, res) => {
      let body = '';
      req.setEncoding('utf8');
      req.on('data', (chunk: string) => (body += chunk));
      req.on('error', () => undefined);
      res.on('error', () => undefined);
      req.on('end', () => {
        const post = { path: req.url ?? '', headers: req.headers, body, at: Date.now() };
        destination.posts.push(post);
        destination.#answer(res, post, destination.posts.length);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return destination;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  answerWith(answer: Answer): void {
    this.#answer = answer;
  }

  /** How often each event was posted. */
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
