import { join } from 'node:path';
import { openDatabase } from '@gwk/api/database/database';
import { toPublicId } from '@gwk/core/ids/ids';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { query } from '../../support/servers/database.js';
import {
  apiEnvironment,
  commandEnvironment,
  type GatewaySettings,
} from '../../support/gateway/gateway-settings.js';
import { runGwk } from '../../support/gateway/gwk-command.js';
import { pickPort } from '../../support/ports.js';
import { GWK, Program } from '../../support/program.js';
import { makeAccount } from '../shared/accounts.js';
import { Child } from '../shared/child.js';
import { PRODUCTION } from '../shared/production.js';
import { makeInstances } from '../shared/instances.js';
import type { PaceOptions } from '../shared/pace-program.js';
import type { BenchServers } from '../shared/servers.js';
import { setting } from '../shared/table.js';
import { fill, FIRST, makeOld, PER_CONTACT, PREFIX } from './fill.js';

export interface Person {
  phone: string;
  /** Public id of the instance in their conversation. */
  instance: string;
}

/** A `gwk api` on a database with this many messages, and its load. */
export interface Subject {
  messages: number;
  /** Number of filled messages; in an empty database, those of one comparable conversation. */
  filled: number;
  url: string;
  apiKey: string;
  /** Public ids. */
  instances: string[];
  databaseUrl: string;
  load: Child;
  /** Two contacts that the load leaves alone. */
  people: { busy: Person; quiet: Person };
  fillSeconds: number;
  stop(): Promise<void>;
}

const INSTANCES = 20;
/** Number of contacts that receive messages repeatedly. In an empty database each is new once. */
const KNOWN = setting('KNOWN', 1_000);
const NEW_SHARE = 0.1;
const FAR = 10_000_000;

export async function openSubject(
  servers: BenchServers,
  settings: GatewaySettings,
  messages: number,
): Promise<Subject> {
  const url = new URL(servers.postgres.url);
  const name = `growth_${messages}`;
  await query(url.href, `CREATE DATABASE ${name}`);
  url.pathname = `/${name}`;
  const own = { ...settings, databaseUrl: url.href, redisPrefix: `${name}:` };
  await runGwk(['migrate'], commandEnvironment(own));
  const db = openDatabase({ url: url.href, poolSize: 2, program: 'bench' });
  const sealer = new Sealer(parseEncryptionKeys(settings.encryptionKeys));
  const account = await makeAccount(db, 'bench');
  const ids = await makeInstances(db, sealer, { accountId: account.id, count: INSTANCES });
  await db.$disconnect();
  const began = performance.now();
  const filling = { databaseUrl: url.href, accountId: account.id, instances: ids };
  const isOld = process.env['PARTITIONS'] !== 'new';
  if (messages > 0) await fill({ ...filling, messages });
  else if (isOld) await makeOld({ ...filling, first: FAR - 1 });
  const fillSeconds = (performance.now() - began) / 1000;
  const { program, port } = await startApi(servers.folder, own, name);
  const instances = ids.map((id) => toPublicId('instance', id));
  const contacts = Math.ceil(messages / PER_CONTACT);
  const phones = { prefix: PREFIX, first: FIRST, count: KNOWN, ...spread(contacts) };
  const options: PaceOptions = {
    port,
    targets: instances.map((instanceId) => ({ apiKey: account.apiKey, instanceId })),
    phones,
    newShare: NEW_SHARE,
  };
  const [load] = await Child.start(new URL('../shared/pace-program.js', import.meta.url), options);
  return {
    messages,
    filled: messages > 0 || !isOld ? messages : PER_CONTACT,
    url: `http://127.0.0.1:${port}`,
    apiKey: account.apiKey,
    instances,
    databaseUrl: url.href,
    load,
    people: people(contacts, phones.step, instances),
    fillSeconds,
    stop: async () => {
      await load.stop();
      await program.stop();
    },
  };
}

/** Spreads the recipients over all contacts and instances. */
function spread(contacts: number): { step: number; newcomers: number } {
  let step = Math.max(1, Math.floor(contacts / KNOWN));
  while (step % 2 === 0 || step % 5 === 0) step -= 1;
  return { step, newcomers: Math.max(contacts, KNOWN * step) };
}

/**
 * Chooses two contacts between the recipients of the load: existing ones, or new ones far from all others. An old
 * database has only the quiet one.
 */
function people(contacts: number, step: number, instances: string[]): Subject['people'] {
  const last = contacts > 0 ? contacts - 1 : FAR;
  const places = [last, last - 1, last - 2].filter((place) => contacts === 0 || place % step !== 0);
  const [busy, quiet] = places.map((place) => ({
    phone: `${PREFIX}${FIRST + place}`,
    instance: instances[place % instances.length]!,
  }));
  return { busy: busy!, quiet: quiet! };
}

async function startApi(folder: string, settings: GatewaySettings, name: string) {
  const port = await pickPort();
  const env = apiEnvironment(settings, { port, internalPort: await pickPort() });
  const program = new Program({
    name,
    args: [GWK, 'api'],
    env: { ...env, ...PRODUCTION },
    logFile: join(folder, `${name}.log`),
    ready: async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok,
    supervised: false,
  });
  await program.start();
  return { program, port };
}
