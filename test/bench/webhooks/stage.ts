import { join } from 'node:path';
import { openDatabase, type Database } from '@gwk/api/database/database';
import { sealEventData } from '@gwk/api/events/emit';
import { sealWebhookSecret } from '@gwk/api/webhooks/secrets';
import { newUuid } from '@gwk/core/ids/ids';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { generateWebhookSecret } from '@gwk/api/webhooks/signature';
import {
  commandEnvironment,
  workerEnvironment,
  type GatewaySettings,
} from '../../support/gateway/gateway-settings.js';
import { runGwk } from '../../support/gateway/gwk-command.js';
import { pickPort } from '../../support/ports.js';
import { GWK, Program } from '../../support/program.js';
import { Child } from '../shared/child.js';
import { PRODUCTION } from '../shared/production.js';
import { startBenchServers, type BenchServers } from '../shared/servers.js';
import { benchSettings } from '../shared/settings.js';
import type { FloorOptions } from './floor-program.js';
import type { Ports } from './receiver-program.js';

/** The receiver, the floor and a `gwk worker` on the same servers, and endpoints of accounts. */
export interface Stage {
  servers: BenchServers;
  db: Database;
  floor: Child;
  floorUrl: string;
  receiver: Child;
  receiverUrl: string;
  worker: Program;
  /** Each with encrypted event data of its account. */
  live: BenchEndpoint[];
  dead: BenchEndpoint[];
  stop(): Promise<void>;
}

export interface BenchEndpoint {
  accountId: string;
  endpointId: string;
  dataSealed: Buffer;
}

export interface StageOptions {
  live: number;
  dead: number;
  perEndpoint: number;
  /** Size of an event before encryption. */
  bytes: number;
  nodeArguments: string[];
}

/** Default of a worker (docs/configuration.md). */
const POOL = 8;

export async function setStage(options: StageOptions): Promise<Stage> {
  const servers = await startBenchServers();
  const opened: (() => Promise<unknown>)[] = [() => servers.stop()];
  const stop = async () => {
    for (const close of opened.reverse()) await close();
  };
  try {
    const settings = await benchSettings(servers);
    await runGwk(['migrate'], commandEnvironment(settings));
    const db = openDatabase({ url: settings.databaseUrl, poolSize: 2, program: 'bench' });
    opened.push(() => db.$disconnect());
    const [receiver, ports] = await Child.start<Ports>(new URL('./receiver-program.js', import.meta.url));
    opened.push(() => receiver.stop());
    const { floor, floorUrl } = await startFloor(db, settings, options);
    opened.push(() => floor.stop());
    const receiverUrl = `http://127.0.0.1:${ports.fast}`;
    const sealer = new Sealer(parseEncryptionKeys(settings.encryptionKeys));
    const add = (url: string) => addEndpoint(db, sealer, { url, bytes: options.bytes });
    const live = await many(options.live, (index) => add(`${receiverUrl}/live/${index}`));
    // Half of the dead endpoints accept connections and do not respond; the others do not listen.
    const nobody = await pickPort();
    const dead = await many(options.dead, (index) =>
      add(`http://127.0.0.1:${index % 2 === 0 ? ports.silent : nobody}/dead/${index}`),
    );
    const worker = await startWorker(servers, settings, options);
    opened.push(() => worker.stop());
    return { servers, db, floor, floorUrl, receiver, receiverUrl, worker, live, dead, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function many<T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let index = 0; index < count; index++) made.push(await make(index));
  return made;
}

async function startFloor(db: Database, settings: GatewaySettings, options: StageOptions) {
  await db.$executeRawUnsafe('CREATE DATABASE floor');
  const url = new URL(settings.databaseUrl);
  url.pathname = '/floor';
  const floorOptions: FloorOptions = {
    databaseUrl: url.href,
    pool: POOL,
    concurrency: options.live * options.perEndpoint,
  };
  const [floor] = await Child.start(new URL('./floor-program.js', import.meta.url), floorOptions);
  return { floor, floorUrl: url.href };
}

async function addEndpoint(
  db: Database,
  sealer: Sealer,
  { url, bytes }: { url: string; bytes: number },
): Promise<BenchEndpoint> {
  const [accountId, endpointId] = [newUuid(), newUuid()];
  await db.account.create({ data: { id: accountId, name: accountId } });
  const secretSealed = sealWebhookSecret(sealer, accountId, generateWebhookSecret());
  const secrets = { create: { id: newUuid(), secretSealed } };
  await db.webhookEndpoint.create({ data: { id: endpointId, accountId, url, eventTypes: [], secrets } });
  return { accountId, endpointId, dataSealed: sealEventData(sealer, accountId, buildEvent(bytes)) };
}

export const buildEvent = (bytes: number): Record<string, unknown> => ({ text: 'x'.repeat(bytes) });

async function startWorker(
  { folder }: BenchServers,
  settings: GatewaySettings,
  options: StageOptions,
): Promise<Program> {
  const port = await pickPort();
  const env = workerEnvironment(settings, port);
  const worker = new Program({
    name: 'worker',
    args: [...options.nodeArguments, GWK, 'worker'],
    env: {
      ...env,
      ...PRODUCTION,
      GWK_WORKER_WEBHOOK_CONCURRENCY_PER_ENDPOINT: String(options.perEndpoint),
    },
    logFile: join(folder, 'worker.log'),
    ready: async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok,
    supervised: false,
  });
  await worker.start();
  return worker;
}
