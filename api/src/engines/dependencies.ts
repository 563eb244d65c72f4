import type { apiSettings } from '@gwk/core/config/api';
import type { ConfigOf } from '@gwk/core/config/load';
import type { Logger } from '@gwk/core/log';
import type { PolicyOverrides } from '@gwk/core/policy/policy';
import type { Registry } from 'prom-client';
import type { Sealer } from '@gwk/core/encryption';
import type { Database } from '../database/database.js';
import type { Media } from '../media/media.js';
import type { LiveCommands } from '../instances/live/commands.js';
import type { AdminRedis } from './redis-users.js';

/** What the internal port is made with. */
export type InternalConfig = Pick<
  ConfigOf<typeof apiSettings>,
  | 'internalHost'
  | 'internalPort'
  | 'internalMaxConnections'
  | 'internalTlsCert'
  | 'internalTlsKey'
  | 'operatorToken'
  | 'leaseMs'
  | 'leaseRenewMs'
  | 'redisUrl'
  | 'redisCa'
  | 'redisPrefix'
  | 'engineRedisUrl'
  | 'redisAcl'
  | 'environment'
  | 'clusterNamespace'
  | 'maxInstances'
>;

export interface InternalDeps {
  config: InternalConfig;
  environmentPolicy: PolicyOverrides;
  database: Database;
  /** With the right to make Redis users. May be down: nothing here waits for it. */
  redis: AdminRedis;
  sealer: Sealer;
  media: Pick<Media, 'files'>;
  /** By which an engine that runs hears of a pairing at once. */
  live: Pick<LiveCommands, 'ask'>;
  log: Logger;
  /** Where calls are measured. */
  registry?: Registry;
  /** Without a byte under a request; 60 s where absent. */
  silenceMs?: number;
  /** By which tokens are remembered; that of the process where absent. */
  now?: () => number;
}

/** The pod whose token opened a call. */
export interface EngineCaller {
  tokenId: string;
  instanceId: string;
  pod: string;
}
