import type { Logger } from '@gwk/core/log';
import { createClient } from 'redis';

/**
 * Connections to Redis that never hold up a request: while Redis is away commands fail at once, and connecting goes
 * on in the background for as long as the program runs. A Redis that hangs without closing its connections is given
 * up after a few seconds of silence.
 */
export interface RedisOptions {
  url: string;
  /** Certificate authority (PEM), where the address is rediss://. */
  ca?: string | undefined;
  /** Shown by CLIENT LIST. */
  program: string;
  log: Logger;
}

const CONNECT_TIMEOUT_MS = 2_000;
const PING_EVERY_MS = 1_000;
const SILENCE_MS = 3_000;
const MAX_RETRY_MS = 1_000;
const MAX_QUEUED_COMMANDS = 100_000;

export type Redis = ReturnType<typeof openRedis>;

/** Begins to connect and returns; `isReady` says whether it has. */
export function openRedis({ url, ca, program, log }: RedisOptions) {
  const client = createClient({
    url,
    name: program,
    disableOfflineQueue: true,
    commandsQueueMaxLength: MAX_QUEUED_COMMANDS,
    pingInterval: PING_EVERY_MS,
    // The client would keep a timer for each command until it fires, answered or not. Silence ends the connection
    // sooner, and with it whatever waits.
    commandOptions: { timeout: 0 },
    socket: {
      ...(ca !== undefined && url.startsWith('rediss:') && { tls: true as const, ca }),
      connectTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_MS,
      reconnectStrategy: (retries) =>
        Math.min(50 * 2 ** Math.min(retries, 10), MAX_RETRY_MS) * (0.75 + Math.random() / 2),
    },
  });
  let away = false;
  client.on('error', (error: Error) => {
    if (!away) log.warn({ err: error }, 'Redis is away');
    away = true;
  });
  client.on('ready', () => {
    if (away) log.info('Redis is back');
    away = false;
  });
  // Rejects only when the client is closed before it has ever connected.
  client.connect().catch(() => undefined);
  return client;
}

/** Closes at once, connected or not. */
export function closeRedis(client: Redis): void {
  if (client.isOpen) client.destroy();
}
