import { secretSetting, setting, types } from './load.js';

/** Settings of `gwk instances`, which asks the cluster. */
export const instancesSettings = {
  clusterUrl: setting(
    'GWK_CLUSTER_URL',
    types.url('http', 'https').optional(),
    'Address of what keeps Instance resources; that of the gateway on this machine when not set.',
  ),
  clusterToken: secretSetting(
    'GWK_CLUSTER_TOKEN',
    types.text().optional(),
    'Token for that address; that of the gateway on this machine when not set.',
  ),
};
