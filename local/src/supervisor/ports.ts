import { setTimeout as sleep } from 'node:timers/promises';
import { isPortFree } from '../servers/process.js';
import { localSettings } from '@gwk/core/config/local';
import type { LocalConfig } from './settings.js';

type PortSetting = { [K in keyof LocalConfig]: LocalConfig[K] extends number ? K : never }[keyof LocalConfig];

const POLL_MS = 100;
const NETWORK_PORTS = ['networkPort', 'networkControlPort', 'networkMediaPort'] as const;

/** Settings of the ports that this run listens on. */
export function listRequiredPorts(config: LocalConfig): PortSetting[] {
  return [
    'apiPort',
    'internalPort',
    'workerPort',
    'operatorPort',
    ...(config.network === 'simulated' ? NETWORK_PORTS : []),
    ...(config.databaseUrl === undefined ? (['postgresPort'] as const) : []),
    ...(config.redisUrl === undefined ? (['redisPort'] as const) : []),
  ];
}

/** Describes port conflicts and their fix; undefined if all ports are free within the time. */
export async function findPortConflicts(
  config: LocalConfig,
  timeoutMs: number,
  pause: () => Promise<unknown> = () => sleep(POLL_MS),
): Promise<string | undefined> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const conflicts = [...findDuplicates(config), ...(await findUsed(config))];
    if (conflicts.length === 0) return undefined;
    if (Date.now() >= end) return conflicts.join('\n');
    await pause();
  }
}

function findDuplicates(config: LocalConfig): string[] {
  const names = listRequiredPorts(config);
  return names
    .filter((name, at) => names.findIndex((other) => config[other] === config[name]) < at)
    .map((name) => `port ${config[name]} is used twice; change ${localSettings[name].env}`);
}

async function findUsed(config: LocalConfig): Promise<string[]> {
  const names = listRequiredPorts(config);
  const free = await Promise.all(names.map((name) => isPortFree(config[name])));
  return names
    .filter((_, at) => !free[at])
    .map((name) => {
      const other = `${localSettings[name].env}=${(config[name] % 65000) + 100} make run`;
      return `port ${config[name]} is in use. Stop the other program, or choose another port: ${other}`;
    });
}
