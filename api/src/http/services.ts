import type { ConfigOf } from '@gwk/core/config/load';
import type { apiSettings } from '@gwk/core/config/api';
import type { Clock } from '@gwk/core/clock';
import type { Logger } from '@gwk/core/log';
import type { PolicyOverrides } from '@gwk/core/policy/policy';
import type { Registry } from 'prom-client';
import type { RedisKeys } from '@gwk/core/protocol/redis-keys';
import type { Sealer } from '@gwk/core/sealing';
import type { KeyDirectory } from '../accounts/api-keys.js';
import type { RateLimiter } from '../accounts/rate-limiter.js';
import type { Cluster } from '../instances/resource-client.js';
import type { Database } from '../database/database.js';
import type { Receiver } from '../inbound/receiver.js';
import type { IdempotencyStore } from './idempotency/store.js';
import type { Turnstile } from '../instances/concurrency-limiter.js';
import type { Media } from '../media/media.js';
import type { LiveCommands } from '../instances/live/commands.js';
import type { Acceptor } from '../messages/send/acceptor.js';
import type { PairingWatch } from '../instances/pairing/watch.js';
import type { Redis } from '../platform/redis.js';
import type { Cursors } from './cursor.js';

export type ApiConfig = ConfigOf<typeof apiSettings>;

/** What the public tier works with; one of each in a process. */
export interface Services {
  config: ApiConfig;
  /** Policy overrides of the environment. */
  environmentPolicy: PolicyOverrides;
  log: Logger;
  /** By which requests, streams and questions to engines end in time. */
  clock: Clock;
  db: Database;
  redis: Redis;
  redisKeys: RedisKeys;
  sealer: Sealer;
  apiKeys: KeyDirectory;
  limiter: RateLimiter;
  idempotency: IdempotencyStore;
  cursors: Cursors;
  cluster: Cluster;
  /** Around what calls the cluster inside a transaction. */
  clusterTurns: Turnstile;
  live: LiveCommands;
  pairings: PairingWatch;
  /** Of what consumers make up for sandboxes. */
  receiver: Receiver;
  acceptor: Acceptor;
  media: Media;
  /** What /metrics shows, of both listeners. */
  registry: Registry;
}
