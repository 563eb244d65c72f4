import type { Logger } from '@gwk/core/log';
import type { Sealer } from '@gwk/core/encryption';
import type { Database } from '../database/database.js';
import type { Doorbell } from '../messages/send-notifier.js';

/** Dependencies of every job. */
export interface JobDependencies {
  db: Database;
  sealer: Sealer;
  doorbell: Doorbell;
  log: Logger;
}
