import { setTimeout as sleep } from 'node:timers/promises';
import { portIsFree } from '../servers/process.js';
import { localSettings } from '@gwk/core/config/local';
import type { LocalConfig } from './settings.js';

type PortSetting = { [K in keyof LocalConfig]: LocalConfig[K] extends number ? K : never }[keyof LocalConfig];

const POLL_MS = 100;
const NETWORK_PORTS = ['networkPort', 'networkControlPort', 'networkMediaPort'] as const;

/** The ports that this run will listen on, by the setting that names them. */
export function neededPorts(config: LocalConfig): PortSetting[] {
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

/** What is wrong with the ports and how to mend it; undefined where all are free within the time. */
export async function portFaults(
  config: LocalConfig,
  patienceMs: number,
  pause: () => Promise<unknown> = () => sleep(POLL_MS),
): Promise<string | undefined> {
  const end = Date.now() + patienceMs;
  for (;;) {
    const faults = [...doubled(config), ...(await taken(config))];
    if (faults.length === 0) return undefined;
    if (Date.now() >= end) return faults.join('\n');
    await pause();
  }
}

function doubled(config: LocalConfig): string[] {
  const names = neededPorts(config);
  return names
    .filter((name, at) => names.findIndex((other) => config[other] === config[name]) < at)
    .map((name) => `port ${config[name]} is named twice; change ${localSettings[name].env}`);
}

async function taken(config: LocalConfig): Promise<string[]> {
  const names = neededPorts(config);
  const free = await Promise.all(names.map((name) => portIsFree(config[name])));
  return names
    .filter((_, at) => !free[at])
    .map((name) => {
      const other = `${localSettings[name].env}=${(config[name] % 65000) + 100} make run`;
      return `port ${config[name]} is taken. Stop what listens there, or choose another: ${other}`;
    });
}
