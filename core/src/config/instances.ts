import { secretSetting, setting, types } from './load.js';

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
