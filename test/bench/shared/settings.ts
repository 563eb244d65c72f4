import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { newSecrets, type GatewaySettings } from '../../support/gateway/gateway-settings.js';
import { pickPort } from '../../support/ports.js';
import type { BenchServers } from './servers.js';

/** Settings that single programs of a gateway share, for benchmarks without a whole gateway. */
export async function benchSettings({
  folder,
  postgres,
  redis,
}: Pick<BenchServers, 'folder' | 'postgres' | 'redis'>): Promise<GatewaySettings> {
  const failpointFolder = join(folder, 'failpoints');
  mkdirSync(failpointFolder, { recursive: true });
  return {
    ...newSecrets(),
    databaseUrl: postgres.url,
    redisUrl: redis.url,
    redisPrefix: 'bench:',
    operatorPort: await pickPort(),
    localFolder: folder,
    failpointFolder,
    networkUrl: 'http://127.0.0.1:1',
    mediaFolder: join(folder, 'media'),
    mediaUrl: 'http://127.0.0.1:1',
  };
}
