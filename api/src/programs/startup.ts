import { setTimeout as sleep } from 'node:timers/promises';
import type { apiSettings } from '../config/api.js';
import { ConfigError, type ConfigOf } from '@gwk/core/config/load';
import type { workerSettings } from '../config/worker.js';
import { exitOnUncaughtError, onShutdown } from '@gwk/core/process/lifecycle';
import { createLogger, type Logger } from '@gwk/core/process/log';
import { RedisKeys } from '@gwk/core/protocol/redis-keys';
import { Sealer } from '@gwk/core/crypto/encryption';
import { tracing } from '@gwk/core/tracing/tracing';
import { openDatabase, type Database } from '../database/database.js';
import { checkEncryptionKeys, WrongEncryptionKey } from '../database/key-check.js';
import { UnusablePooler } from '../database/connection.js';
import { detectPooling } from '../database/pooler.js';
import { checkConnectionBudget, TooFewConnections } from '../database/connection-budget.js';
import { notePresence } from '../platform/presence.js';
import { closeRedis, openRedis, watchEviction, type Redis } from '../platform/redis.js';

export const EXIT_CONFIGURATION = 2;
const DATABASE_TIMEOUT_MS = 60_000;
const WRONG_SETTINGS = [ConfigError, WrongEncryptionKey, TooFewConnections, UnusablePooler];
const LISTEN_ERRORS = ['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'];

interface Program<C, R> {
  name: 'api' | 'worker';
  config: C;
  start: (config: C, log: Logger, signal: AbortSignal) => Promise<R>;
  onStarted: (running: R, log: Logger) => void;
  /** Time limit of a stop. */
  timeoutMs?: number;
}

/** Runs a program until a signal or the exit of its parent. */
export async function runProgram<
  C extends { logLevel: string; exitWithParent: boolean },
  R extends { stop(): Promise<void> },
>({ name, config, start, onStarted, timeoutMs }: Program<C, R>): Promise<void> {
  const log = createLogger(name, config.logLevel);
  exitOnUncaughtError(log);
  const stopping = new AbortController();
  const starting = start(config, log, stopping.signal);
  onShutdown(
    async (cause) => {
      log.info({ cause }, 'stopping');
      stopping.abort();
      await (await starting.catch(() => undefined))?.stop();
      log.info('stopped');
    },
    { exitWithParent: config.exitWithParent, ...(timeoutMs !== undefined && { timeoutMs }) },
  );
  try {
    onStarted(await starting, log);
  } catch (error) {
    if (!stopping.signal.aborted) cannotStart(name, error, log);
  }
}

function cannotStart(name: string, error: unknown, log: Logger): never {
  // Somebody has to change a setting, so a retry cannot help.
  const wrongSetting = WRONG_SETTINGS.some((kind) => error instanceof kind);
  const { code, message } = error as NodeJS.ErrnoException;
  const expected = wrongSetting || LISTEN_ERRORS.includes(code ?? '');
  process.stderr.write(`gwk ${name}: ${expected ? message : 'cannot start'}\n`);
  if (!expected) log.error({ err: error }, 'cannot start');
  process.exit(wrongSetting ? EXIT_CONFIGURATION : 1);
}

export interface Stores {
  db: Database;
  sealer: Sealer;
  redis: Redis;
  redisKeys: RedisKeys;
  /** Closes parts of the program at its stop, in reverse order. */
  closers: AsyncDisposableStack;
}

interface Start {
  name: 'api' | 'worker';
  config: ConfigOf<typeof apiSettings> | ConfigOf<typeof workerSettings>;
  log: Logger;
  signal: AbortSignal;
}

/**
 * Opens the stores of a program and starts it on them. If the start fails, everything closes again.
 * @throws WrongEncryptionKey, TooFewConnections, UnusablePooler
 */
export async function startOnStores<R>(
  { name, config, log, signal }: Start,
  start: (stores: Stores) => Promise<R>,
): Promise<R & { stop(): Promise<void> }> {
  const program = `gwk-${name}`;
  const sealer = new Sealer(config.encryptionKeys);
  const { databaseUrl, databaseCa, databasePool: pool, redisUrl, redisCa } = config;
  const db = openDatabase({ url: databaseUrl, ca: databaseCa, poolSize: pool, program });
  const closers = new AsyncDisposableStack();
  closers.defer(() => db.$disconnect());
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= closers.disposeAsync());
  try {
    await tracing.start(config, program, log);
    closers.defer(() => tracing.stop());
    await waitForUsableDatabase(db, { config, sealer, log, signal });
    await checkConnectionBudget(db, { pool, setting: `GWK_${name.toUpperCase()}_DATABASE_POOL`, log });
    const redis = openRedis({ url: redisUrl, ca: redisCa, program, log });
    closers.defer(() => closeRedis(redis));
    watchEviction(redis, log);
    const redisKeys = new RedisKeys(config.redisPrefix);
    closers.defer(notePresence(redis, redisKeys, name));
    return { ...(await start({ db, sealer, redis, redisKeys, closers })), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Waits up to 60 s for Postgres and its migrations.
 * @throws WrongEncryptionKey and UnusablePooler at once, because a retry cannot help
 */
async function waitForUsableDatabase(
  db: Database,
  { config, sealer, log, signal }: Omit<Start, 'name'> & { sealer: Sealer },
): Promise<void> {
  const deadline = performance.now() + DATABASE_TIMEOUT_MS;
  for (;;) {
    try {
      const pooling = await detectPooling({ url: config.databaseUrl, ca: config.databaseCa });
      if (pooling === 'transaction') await warnWithoutTimeout(db, log);
      await checkEncryptionKeys(db, sealer);
      return;
    } catch (error) {
      if (WRONG_SETTINGS.some((kind) => error instanceof kind) || performance.now() > deadline) throw error;
      log.warn({ err: error }, 'waiting for Postgres and its migrations (gwk migrate)');
      await sleep(1_000, undefined, { signal });
    }
  }
}

/** A pooler of transactions forgets the timeout that a connection sets. */
async function warnWithoutTimeout(db: Database, log: Logger): Promise<void> {
  const [setting] = await db.$queryRaw<{ reset_val: string }[]>`
    SELECT reset_val FROM pg_settings WHERE name = 'statement_timeout'`;
  if (setting!.reset_val !== '0') return;
  log.warn(
    "the pooler pools transactions, and statements have no timeout: ALTER ROLE ... SET statement_timeout = '30s' (docs/operate.md#pgbouncer)",
  );
}
