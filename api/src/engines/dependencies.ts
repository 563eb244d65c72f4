import type { Logger } from '@gwk/core/process/log';
import type { PolicyOverrides } from '../policy/policy.js';
import type { Registry } from 'prom-client';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { Database } from '../database/database.js';
import type { ApiConfig, Services } from '../http/services.js';
import type { Media } from '../media/media.js';
import type { MediaTransfers } from '../media/transfers/media-transfers.js';
import type { LiveCommands } from '../engine-commands/commands.js';
import type { AdminRedis } from './redis-users.js';

export interface InternalDeps {
  config: ApiConfig;
  environmentPolicy: PolicyOverrides;
  database: Database;
  /** Connection with the right to create Redis users. May be down; nothing here waits for it. */
  redis: AdminRedis;
  sealer: Sealer;
  media: Pick<Media, 'files'>;
  /** Sends the text to callers whose call was rejected. */
  acceptor: Pick<Services['acceptor'], 'accept'>;
  transfers: Pick<MediaTransfers, 'engine_download' | 'engine_upload'>;
  /** Notifies a running engine of a pairing at once. */
  live: Pick<LiveCommands, 'ask'>;
  log: Logger;
  /** Registry of the call metrics. */
  registry?: Registry;
  /** Notes the operator by the `User-Agent` of its calls. */
  noteOperator?: (userAgent: string | undefined) => void;
  /** Time without a byte during a request (default: 60 s). */
  silenceMs?: number;
  /** Clock of the token cache (default: that of the process). */
  now?: () => number;
}
