import { secretSetting, setting, types } from './load.js';
import * as shared from './shared.js';

/** Settings of `gwk operator`. */
export const operatorSettings = {
  ...shared.program,
  operatorToken: shared.operatorToken,
  ...shared.internalApi(
    'GWK_OPERATOR',
    "Address of the API's internal listener, for the operator and its engines.",
  ),
  ...shared.healthListener(
    'GWK_OPERATOR',
    8083,
    ' With the cluster `local` it also serves the Instance resources.',
  ),
  cluster: setting(
    'GWK_OPERATOR_CLUSTER',
    types.oneOf('local', 'kubernetes').default('local'),
    'Cluster that stores Instance resources and runs engines. `local`: a file and child processes. `kubernetes`: the cluster in which the operator runs, or that of KUBECONFIG.',
  ),
  namespaces: setting(
    'GWK_OPERATOR_NAMESPACES',
    types
      .matching(/^(\*|[a-z0-9-]+(,[a-z0-9-]+)*)$/, '* or names of namespaces, separated by commas')
      .optional(),
    "Namespaces to watch for Instances, separated by commas, or `*` for all. Default: the operator's own namespace (`kubernetes`).",
  ),
  profilesFile: setting(
    'GWK_OPERATOR_PROFILES',
    types.text().optional(),
    'YAML file of engine profiles: image, resources and placement by name. It must contain `default` (`kubernetes`).',
  ),
  maxConcurrentUpgrades: setting(
    'GWK_OPERATOR_MAX_CONCURRENT_UPGRADES',
    types.integer(0, 1000).default(1),
    'How many working engines the operator replaces at once when their version or profile has changed; 0 pauses upgrades (`kubernetes`).',
  ),
  upgradeCanary: setting(
    'GWK_OPERATOR_UPGRADE_CANARY',
    types
      .matching(/^[a-z0-9-]+\/[a-z0-9.-]+$/, 'namespace and name of an Instance, separated by a slash')
      .optional(),
    'Instance (`namespace/name`) that must be connected on a new version before the operator upgrades others (`kubernetes`).',
  ),
  engineInternalUrl: setting(
    'GWK_OPERATOR_ENGINE_INTERNAL_URL',
    types.url('http', 'https').optional(),
    "Address of the API's internal listener for engines. Default: GWK_OPERATOR_INTERNAL_URL (`kubernetes`).",
  ),
  leaseName: setting(
    'GWK_OPERATOR_LEASE',
    types.matching(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'a DNS name').default('gwk-operator'),
    'Name of the Lease for leader election among operator replicas (`kubernetes`).',
  ),
  localFolder: setting(
    'GWK_OPERATOR_LOCAL_FOLDER',
    types.text().default('.local'),
    'Folder of `instances.json`, in which the local cluster stores its Instances.',
  ),
  localToken: secretSetting(
    'GWK_OPERATOR_LOCAL_TOKEN',
    types.text(32).optional(),
    'Bearer token that the API, `gwk instances` and `gwk pair` use to access the local cluster.',
  ),
  idleEngineMs: setting(
    'GWK_OPERATOR_IDLE_ENGINE_MS',
    types.integer(1000, 86_400_000).default(600_000),
    'How long an unpaired instance keeps its engine while no pairing is open (milliseconds).',
  ),
  maxUnpairedEngines: setting(
    'GWK_OPERATOR_MAX_UNPAIRED_ENGINES',
    types.integer(0, 100_000).default(50),
    'How many engines of unpaired instances run at once while no pairing is open. Further instances get their engine when their pairing begins.',
  ),
  mediaMaxMb: shared.mediaMaxMb,
  ...shared.simulatedNetworks('GWK_OPERATOR'),
  clientVersion: shared.clientVersion(
    'GWK_OPERATOR',
    'GWK_ENGINE_CLIENT_VERSION of engines whose profile has no `clientVersion`.',
  ),
};
