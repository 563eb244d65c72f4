import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { openDatabase, type Database } from '@gwk/api/database/database';
import type { LeaseIdentity } from '@gwk/core/protocol/engine';
import type { InboundMessage } from '@gwk/core/protocol/inbound';
import { EngineClient, OperatorClient } from '@gwk/core/protocol/internal-client';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { apiEnvironment, commandEnvironment } from '../../support/gateway/gateway-settings.js';
import { runGwk } from '../../support/gateway/gwk-command.js';
import { pickPort } from '../../support/ports.js';
import { GWK, Program } from '../../support/program.js';
import { makeAccount } from '../shared/accounts.js';
import { PRODUCTION } from '../shared/production.js';
import { makeInstances } from '../shared/instances.js';
import type { BenchServers } from '../shared/servers.js';
import { benchSettings } from '../shared/settings.js';

/** A `gwk api` and protocol-only engines. */
export interface Tier {
  program: Program;
  db: Database;
  engines: TierEngine[];
  stop(): Promise<void>;
}

export async function openTier(servers: BenchServers, count: number, nodeOptions = ''): Promise<Tier> {
  const settings = await benchSettings(servers);
  await runGwk(['migrate'], commandEnvironment(settings));
  const db = openDatabase({ url: settings.databaseUrl, poolSize: 2, program: 'bench' });
  const sealer = new Sealer(parseEncryptionKeys(settings.encryptionKeys));
  const { id: accountId } = await makeAccount(db, 'bench');
  const instances = await makeInstances(db, sealer, { accountId, count });
  for (const instanceId of instances) await db.instanceLease.create({ data: { instanceId } });
  const ports = { port: await pickPort(), internalPort: await pickPort() };
  const env = apiEnvironment(settings, ports);
  const program = new Program({
    name: 'api',
    args: [GWK, 'api'],
    env: { ...env, ...PRODUCTION, ...(nodeOptions && { NODE_OPTIONS: nodeOptions }) },
    logFile: join(servers.folder, 'api.log'),
    ready: async () => (await fetch(`http://127.0.0.1:${ports.port}/readyz`)).ok,
    supervised: false,
  });
  await program.start();
  const baseUrl = `http://127.0.0.1:${ports.internalPort}/`;
  const operator = new OperatorClient({ baseUrl, token: settings.operatorToken, timeoutMs: 10_000 });
  const engines: TierEngine[] = [];
  for (const id of instances) engines.push(await TierEngine.open(operator, baseUrl, id));
  const stop = async () => {
    for (const engine of engines) engine.close();
    operator.close();
    await program.stop();
    await db.$disconnect();
  };
  return { program, db, engines, stop };
}

export class TierEngine {
  #lease!: LeaseIdentity;
  #renewed = 0;
  readonly #client: EngineClient;

  private constructor(baseUrl: string, token: string) {
    this.#client = new EngineClient({ baseUrl, token, timeoutMs: 30_000 });
  }

  static async open(operator: OperatorClient, baseUrl: string, instanceId: string): Promise<TierEngine> {
    const { token } = await operator.call('issue-token', { instance_id: instanceId, pod: 'bench' });
    const engine = new TierEngine(baseUrl, token);
    const { epoch, holder } = await engine.#client.call('acquire', { pod: 'bench', version: 'bench' });
    engine.#lease = { epoch, holder };
    engine.#renewed = performance.now();
    return engine;
  }

  async receive(messages: InboundMessage[]): Promise<void> {
    if (performance.now() - this.#renewed > 10_000) {
      this.#renewed = performance.now();
      await this.#client.call('renew', { ...this.#lease, connected: true });
    }
    await this.#client.call('inbound', { ...this.#lease, messages });
  }

  close(): void {
    this.#client.close();
  }
}

/** A text from one of the given number of people. */
export function textFrom(person: number): InboundMessage {
  const chat = `55119${String(80_000_000 + person)}@s.whatsapp.net`;
  return {
    wa_message_id: randomUUID(),
    chat,
    from: chat,
    from_name: 'Ana',
    from_me: false,
    at: new Date().toISOString(),
    type: 'text',
    text: 'Olá! O meu pedido já saiu para entrega? Obrigada.',
    quoted_wa_message_id: null,
  };
}
