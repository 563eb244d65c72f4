import { setting, types } from './load.js';
import * as shared from './shared.js';

/** Settings of the commands for operators: `gwk account`, `gwk key`, and others on the database. */
export const commandSettings = {
  databaseUrl: shared.databaseUrl,
  databaseCa: shared.databaseCa,
  actor: setting(
    'GWK_ACTOR',
    types.matching(/^[\x21-\x7e]{1,100}$/, '1 to 100 printable characters without spaces').optional(),
    'Who does it, for the trail of changes (`cli:<actor>`); `gwk --actor <name> ...` says the same, where no environment can be given. The name of the user of the system when not set, which in an image is `nonroot` for everybody.',
  ),
};
