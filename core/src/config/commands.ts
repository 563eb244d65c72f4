import { secretSetting, setting, types } from './load.js';
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

/** Settings of `gwk instances` and, on one machine, of `gwk pair`. */
export const instancesSettings = {
  clusterUrl: setting(
    'GWK_CLUSTER_URL',
    types.url('http', 'https').optional(),
    'Address of the operator that stores Instance resources on one machine. Default: the gateway on this machine.',
  ),
  clusterToken: secretSetting(
    'GWK_CLUSTER_TOKEN',
    types.text().optional(),
    'Token for GWK_CLUSTER_URL. Default: the token of the gateway on this machine.',
  ),
};
