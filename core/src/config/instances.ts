import { secretSetting, setting, types } from './load.js';

/** Settings of `gwk instances`, which reads the resources of the cluster. */
export const instancesSettings = {
  clusterUrl: setting(
    'GWK_CLUSTER_URL',
    types.url('http', 'https').optional(),
    'Address of the API that stores Instance resources. Default: the gateway on this machine.',
  ),
  clusterToken: secretSetting(
    'GWK_CLUSTER_TOKEN',
    types.text().optional(),
    'Token for GWK_CLUSTER_URL. Default: the token of the gateway on this machine.',
  ),
};
