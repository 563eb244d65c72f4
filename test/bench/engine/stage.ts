import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InstanceOut } from '@gwk/api/resources/instance';
import type { PairingOut } from '@gwk/core/resources/pairing';
import { newCustomer, type Customer } from '../../support/gateway/customer.js';
import { Gateway, type GatewayOptions } from '../../support/gateway/gateway.js';
import { startSharedServers } from '../../support/servers/shared.js';
import { until } from '../../support/wait.js';
import { PRODUCTION } from '../shared/production.js';
import { noteVersions } from '../shared/heading.js';
import { NetworkProcess } from './network.js';

/** A gateway of real processes with one instance on the simulated network, and contacts to write to. */
export interface Stage {
  network: NetworkProcess;
  gateway: Gateway;
  customer: Customer;
  instanceId: string;
  close: () => Promise<void>;
}

const PHONE = '5511900000001';

/** @param settings additional ones of API and operator, from the addresses of network and Redis */
export async function openStage(
  contacts: number,
  settings: (network: string, redis: string) => GatewayOptions['settings'] & object = () => ({}),
): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-bench-'));
  const opened: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const undo of opened.reverse()) await undo();
  };
  try {
    const servers = await startSharedServers();
    opened.push(() => servers.stop());
    const network = await NetworkProcess.start(folder);
    opened.push(() => network.stop());
    const operator = {
      ...PRODUCTION,
      ...network.operatorSettings,
      // The operator passes it to its engines.
      NODE_OPTIONS: process.env['ENGINE_NODE_OPTIONS'] ?? '',
    };
    const more = settings(network.whereabouts.url, servers.redisUrl);
    const gateway = await Gateway.start({
      settings: {
        api: { ...PRODUCTION, ...more.api },
        worker: PRODUCTION,
        operator: { ...operator, ...more.operator },
      },
    });
    opened.push(() => gateway.stop());
    await noteVersions(gateway.settings.databaseUrl, gateway.settings.redisUrl);
    const customer = await newCustomer(gateway, 'bench');
    opened.push(() => customer.close());
    await network.contacts(contacts);
    const instanceId = await linkedInstance(network, customer);
    return { network, gateway, customer, instanceId, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function linkedInstance({ client: network }: NetworkProcess, { client }: Customer): Promise<string> {
  const phone = await network.phone(PHONE, { name: 'Bench' });
  const { id } = await client.expect<InstanceOut>(201, 'POST', '/v1/instances', {
    body: { name: 'bench', kind: 'web' },
  });
  const { qr } = await client.expect<PairingOut>(200, 'POST', `/v1/instances/${id}/pairing`);
  await phone.scan(qr!.code);
  await client.untilConnected(id);
  return id;
}

/**
 * Stops the engine.
 * @returns the process of its replacement once it is connected
 */
export async function replaceEngine({ gateway, customer, instanceId }: Stage): Promise<number> {
  const old = (await gateway.engine()).pid;
  process.kill(old, 'SIGTERM');
  const { pid } = await until(() => gateway.engines().find(({ pid }) => pid !== old), {
    what: 'another engine runs',
  });
  await until(async () => (await engineMetric(pid, 'gwk_instance_connected')) === 1, {
    what: 'the new engine is connected',
  });
  await customer.client.untilConnected(instanceId);
  return pid;
}

/** Value of an engine's metric. */
export async function engineMetric(pid: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${listeningPort(pid)}/metrics`)).text();
  const value = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(text)?.[1];
  if (value === undefined) throw new Error(`no figure ${name}`);
  return Number(value);
}

const LISTENING = '0A';

/** The port that a process listens on, because engines choose their own. Linux only. */
function listeningPort(pid: number): number {
  const sockets = new Set(readdirSync(`/proc/${pid}/fd`).map((fd) => targetId(`/proc/${pid}/fd/${fd}`)));
  for (const line of readFileSync(`/proc/${pid}/net/tcp`, 'utf8').split('\n').slice(1)) {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    if (state === LISTENING && sockets.has(`socket:[${inode}]`)) return parseInt(local!.split(':')[1]!, 16);
  }
  throw new Error(`process ${pid} does not listen`);
}

function targetId(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return ''; // already closed
  }
}
