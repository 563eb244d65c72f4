import type { Logger } from '@gwk/core/process/log';
import { backoffDelay } from '@gwk/core/async/backoff';
import { createClient } from 'redis';

/**
 * Connections to Redis that never delay a request: while Redis is unavailable, commands fail at once and the client
 * reconnects in the background. The client closes a connection to an unresponsive Redis after a few seconds.
 */
export interface RedisOptions {
  url: string;
  /** Certificate authority (PEM) for rediss:// addresses. */
  ca?: string | undefined;
  /** Name in CLIENT LIST. */
  program: string;
  log: Logger;
}

const CONNECT_TIMEOUT_MS = 2_000;
const PING_EVERY_MS = 1_000;
const SILENCE_MS = 3_000;
const RECONNECT = { firstMs: 60, maxMs: 1_250, jitter: 0.4 };
const MAX_QUEUED_COMMANDS = 100_000;

export type Redis = ReturnType<typeof openRedis>;

/** Connects in the background; `isReady` shows the state. */
export function openRedis({ url, ca, program, log }: RedisOptions) {
  const client = createClient({
    url,
    name: program,
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_QUEUED_COMMANDS,
    pingInterval: PING_EVERY_MS,
    // No timeout per command: the client keeps such a timer until it fires, answered or not. The idle limit of the socket
    // closes the connection earlier and fails all pending commands.
    commandOptions: { timeout: 0 },
    socket: {
      ...(ca !== undefined && url.startsWith('rediss:') && { tls: true as const, ca }),
      connectTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_MS,
      reconnectStrategy: (retries) => backoffDelay(RECONNECT, retries + 1),
    },
  });
  let unavailable = false;
  client.on('error', (error: Error) => {
    if (!unavailable) log.warn({ err: error }, 'Redis unavailable');
    unavailable = true;
  });
  client.on('ready', () => {
    if (unavailable) log.info('Redis available again');
    unavailable = false;
  });
  // Rejects only if the client is closed before its first connect.
  client.connect().catch(() => undefined);
  return client;
}

/** Closes the connection at once, in any state. */
export function closeRedis(client: Redis): void {
  if (client.isOpen) client.destroy();
}

/**
 * Finds the policy by which a Redis evicts keys.
 * @param info section `memory` of INFO; some services omit it
 */
export function findEvictionPolicy(info: string): string | undefined {
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1];
  return policy === 'noeviction' ? undefined : policy;
}

/**
 * @param info section `memory` of INFO
 * @returns the used part of `maxmemory`; NaN without such a limit
 */
export function readMemoryRatio(info: string): number {
  const read = (field: string): number => Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(info)?.[1]);
  const limit = read('maxmemory');
  return limit > 0 ? read('used_memory') / limit : Number.NaN;
}

/**
 * Warns at each connection to a Redis that evicts keys: it removes notifications, commands and heartbeats. No message is
 * lost, because Postgres stores them all, but messages wait for the next poll, and commands get no answer.
 */
export function watchEviction(redis: Redis, log: Logger): void {
  const check = async (): Promise<void> => {
    // A service without INFO: nothing to warn about.
    const policy = findEvictionPolicy(await redis.info('memory').catch(() => ''));
    if (policy === undefined) return;
    log.warn(
      { maxmemory_policy: policy },
      'this Redis may evict keys of the gateway: set maxmemory-policy to noeviction (docs/operate.md)',
    );
  };
  if (redis.isReady) void check();
  redis.on('ready', () => void check());
}
