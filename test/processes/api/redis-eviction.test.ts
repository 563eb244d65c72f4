import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@gwk/core/process/log';
import { ownRedis } from '../../support/servers/stores.js';
import { until } from '../../support/wait.js';
import { closeRedis, openRedis, watchEviction } from '@gwk/api/platform/redis';

test('logs a warning for a Redis that evicts, after each connection', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-evicting-'));
  const store = await ownRedis(folder);
  const lines: string[] = [];
  const log = createLogger('api', 'info', { write: (line) => void lines.push(line) });
  const warnings = () => lines.filter((line) => line.includes('may evict')).length;
  const redis = openRedis({ url: store.url, program: 'test', log });
  try {
    watchEviction(redis, log);
    await until(() => redis.isReady, { what: 'Redis is connected' });
    await redis.ping();
    expect(warnings()).toBe(0);
    await redis.configSet('maxmemory-policy', 'allkeys-lru');
    await redis.sendCommand(['CLIENT', 'KILL', 'SKIPME', 'no', 'TYPE', 'normal']).catch(() => undefined);
    await until(() => warnings() > 0, { what: 'the warning is logged' });
    expect(lines.find((line) => line.includes('may evict'))).toContain('allkeys-lru');
  } finally {
    closeRedis(redis);
    await store.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
