import type { Logger } from '@gwk/core/process/log';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { InstanceState } from '@gwk/core/states';
import type { Connection } from '../connection/connection.js';
import type { InternalApiClient } from '../internal-api/client.js';
import type { AcquiredLease } from '../internal-api/lease.js';
import type { EngineMetrics } from '../metrics.js';
import type { SendQueue } from '../sends/send-queue.js';
import type { CommandReaderOptions } from './command-reader.js';
import { EngineRedis } from './engine-redis.js';

interface OpenEngineRedisOptions extends Pick<CommandReaderOptions, 'log' | 'handlers'> {
  acquired: AcquiredLease;
  api: InternalApiClient;
  sends: SendQueue;
  connection: Connection;
  metrics: EngineMetrics;
  log: Logger;
}

/** The Redis connections under a lease: notifications go to the sends, commands to the handlers. */
export function openEngineRedis(options: OpenEngineRedisOptions): EngineRedis {
  const { acquired, api, sends, connection, metrics, log, handlers } = options;
  const { url, username, password, key_prefix, ca } = acquired.redis;
  return new EngineRedis({
    address: { url, username, password, ca },
    keys: new RedisKeys(key_prefix),
    instanceId: acquired.instance.id,
    epoch: acquired.epoch,
    renewMs: acquired.renew_ms,
    commandKey: Buffer.from(acquired.command_key, 'base64'),
    log,
    restoreUser: async () => void (await api.call('redis-user', {})),
    notify: (traceparent) => sends.notifyAndWait(traceparent),
    keep: (messageId, entry) => sends.keepNotification(messageId, entry),
    take: (messages, entry) => sends.take(messages, entry),
    received: (notifiedAt) => metrics.notified(notifiedAt),
    heartbeat: () => {
      const now = new Date();
      return { alive: now, connected: findLastConnected(connection, now) };
    },
    handlers,
  });
}

/** Unknown in other states: the engine may have been disconnected before them. */
function findLastConnected({ state, since }: { state: InstanceState; since: Date }, now: Date): Date | null {
  if (state === 'connected') return now;
  return state === 'disconnected' ? since : null;
}
