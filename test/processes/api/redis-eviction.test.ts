import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@gwk/core/log';
import { ownRedis } from '../../support/servers/stores.js';
import { until } from '../../support/wait.js';
import { closeRedis, openRedis } from '@gwk/api/platform/redis';
import { watchEviction } from '@gwk/api/platform/redis-eviction';

test('a real Redis that evicts is said, at the first connection and at each later one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-evicting-'));
  const store = await ownRedis(folder);
  const lines: string[] = [];
  const log = createLogger('api', 'info', { write: (line) => void lines.push(line) });
  const warnings = () => lines.filter((line) => line.includes('may evict')).length;
  const redis = openRedis({ url: store.url, program: 'test', log });
  try {
    watchEviction(redis, log);
    await until(() => redis.isReady, { what: 'Redis is there' });
    await redis.ping();
    expect(warnings()).toBe(0);
    await redis.configSet('maxmemory-policy', 'allkeys-lru');
    await redis.sendCommand(['CLIENT', 'KILL', 'SKIPME', 'no', 'TYPE', 'normal']).catch(() => undefined);
    await until(() => warnings() > 0, { what: 'it is said' });
    expect(lines.find((line) => line.includes('may evict'))).toContain('allkeys-lru');
  } finally {
    closeRedis(redis);
    await store.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
