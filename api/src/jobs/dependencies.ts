import type { Logger } from '@gwk/core/process/log';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { Database } from '../database/database.js';
import type { SendNotifier } from '../messages/send-notifier.js';

/** Dependencies of every job. */
export interface JobDependencies {
  db: Database;
  sealer: Sealer;
  sendNotifier: SendNotifier;
  log: Logger;
}
