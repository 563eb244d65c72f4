import { setting, types } from './load.js';
import * as shared from './shared.js';

/** Settings of the administration commands that use the database: `gwk account`, `gwk key` and others. */
export const commandSettings = {
  databaseUrl: shared.databaseUrl,
  databaseCa: shared.databaseCa,
  actor: setting(
    'GWK_ACTOR',
    types.matching(/^[\x21-\x7e]{1,100}$/, '1 to 100 printable characters without spaces').optional(),
    'Actor to record in the audit log, as `cli:<actor>`. `gwk --actor <name> ...` sets it on the command line. Default: the name of the system user, which is always `nonroot` in the images.',
  ),
};
