import type { ConfigOf } from '@gwk/core/config/load';
import type { apiSettings } from '../config/api.js';
import type { Clock } from '@gwk/core/clock';
import type { Logger } from '@gwk/core/process/log';
import type { PolicyOverrides } from '../policy/policy.js';
import type { Registry } from 'prom-client';
import type { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { KeyDirectory } from '../accounts/api-keys.js';
import type { RateLimiter } from '../accounts/rate-limiter.js';
import type { SessionDirectory } from '../accounts/sessions.js';
import type { Database } from '../database/database.js';
import type { IdempotencyStore } from './idempotency/store.js';
import type { Mailer } from '../mail/mailer.js';
import type { Redis } from '../platform/redis.js';
import type { Cursors } from './cursor.js';

export type ApiConfig = ConfigOf<typeof apiSettings>;

/**
 * Dependencies of the operations; one of each in a process. Each feature adds what it provides by declaration merging
 * (`declare module` in its main file), so that this layer imports no feature.
 */
export interface Services {
  config: ApiConfig;
  /** Policy overrides of the environment. */
  environmentPolicy: PolicyOverrides;
  log: Logger;
  /** Clock for the time limits of requests, streams and calls to engines. */
  clock: Clock;
  db: Database;
  redis: Redis;
  redisKeys: RedisKeys;
  sealer: Sealer;
  apiKeys: KeyDirectory;
  sessions: SessionDirectory;
  limiter: RateLimiter;
  idempotency: IdempotencyStore;
  cursors: Cursors;
  /** Null: no SMTP server is configured. */
  mailer: Mailer | null;
  /** Registry of the metrics of both listeners. */
  registry: Registry;
}
