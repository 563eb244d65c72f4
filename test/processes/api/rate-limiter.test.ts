import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RateLimiter } from '@gwk/api/accounts/rate-limiter';
import { closeRedis, openRedis } from '@gwk/api/platform/redis';
import { createLogger } from '@gwk/core/process/log';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { redisPrefix, startTestRedis } from '../../support/servers/servers.js';
import { realTime } from '../../support/wait.js';

const log = createLogger('test', 'error');
/** A fixed time, so that all calls are in one minute. */
const now = () => 1_800_000_010_000;

test('waits at most 50 ms for a Redis that hangs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-rate-'));
  const server = await startTestRedis(folder);
  const slow = openRedis({ url: server.url, program: 'test', log });
  await new Promise((resolve) => slow.once('ready', resolve));
  const limiter = new RateLimiter(slow, new RedisKeys(redisPrefix()), now);
  // Half of the limit is used. With less, the limiter would not wait for Redis.
  await Promise.all(Array.from({ length: 10 }, async () => limiter.count('key', 20)));
  await slow.sendCommand(['CLIENT', 'PAUSE', '10000', 'ALL']);
  const took: number[] = [];
  for (const remaining of [9, 8, 7, 6, 5]) {
    const before = performance.now();
    expect(await limiter.count('key', 20)).toMatchObject({ allowed: true, remaining });
    took.push(performance.now() - before);
  }
  took.sort((a, b) => a - b);
  expect(took[2]).toBeLessThan(realTime(200));
  // The idle connection is closed after 3 s. Only calls made before that wait for it.
  expect(took[4]).toBeLessThan(realTime(2_500));
  closeRedis(slow);
  await server.stop();
  rmSync(folder, { recursive: true });
});
