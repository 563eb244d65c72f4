import { secretSetting, setting, types } from './load.js';
import * as shared from './shared.js';

/** Settings of `gwk operator`. */
export const operatorSettings = {
  logLevel: shared.logLevel,
  exitWithParent: shared.exitWithParent,
  operatorToken: shared.operatorToken,
  internalUrl: setting(
    'GWK_OPERATOR_INTERNAL_URL',
    types.url('http', 'https'),
    "Address of the API's internal listener, for the operator and its engines.",
  ),
  internalCa: setting(
    'GWK_OPERATOR_INTERNAL_CA',
    types.text().optional(),
    'Certificate authority (PEM) that must have signed the certificate of the internal listener.',
  ),
  host: setting(
    'GWK_OPERATOR_HOST',
    types.text().default('0.0.0.0'),
    'Address of the health and metrics listener.',
  ),
  port: setting(
    'GWK_OPERATOR_PORT',
    types.integer(0, 65535).default(8083),
    'Port of the health and metrics listener. With the cluster `local` it also serves the Instance resources.',
  ),
  cluster: setting(
    'GWK_OPERATOR_CLUSTER',
    types.oneOf('local', 'kubernetes').default('local'),
    'Cluster that stores Instance resources and runs engines. `local`: a folder of manifests and child processes. `kubernetes`: the cluster in which the operator runs, or that of KUBECONFIG.',
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
    types.integer(1, 1000).default(1),
    'How many working engines the operator replaces at once when their version or profile has changed (`kubernetes`).',
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
    types.text().default('.local/instances'),
    'Folder of the Instance manifests of the local cluster.',
  ),
  localToken: secretSetting(
    'GWK_OPERATOR_LOCAL_TOKEN',
    types.text(32).optional(),
    'Bearer token that the API and `gwk instances` use to access the local cluster.',
  ),
  idleEngineMs: setting(
    'GWK_OPERATOR_IDLE_ENGINE_MS',
    types.integer(1000, 86_400_000).default(600_000),
    'How long an unpaired instance keeps its engine while no pairing is open (milliseconds).',
  ),
  networkUrl: setting(
    'GWK_OPERATOR_NETWORK_URL',
    types.url('ws', 'wss').optional(),
    'Address of a simulated messaging network that engines use instead of the real one.',
  ),
  networkRoot: setting(
    'GWK_OPERATOR_NETWORK_ROOT',
    types.matching(/^[0-9a-f]{64}$/, '32 bytes in hex').optional(),
    'Root key of the certificates of the simulated network.',
  ),
  networkCa: setting(
    'GWK_OPERATOR_NETWORK_CA',
    types.text().optional(),
    'Certificate authority (PEM) of the media hosts of the simulated network.',
  ),
  sandboxNetwork: setting(
    'GWK_OPERATOR_SANDBOX_NETWORK',
    types.url('http').optional(),
    'Address of a program that simulates the network for sandbox engines. Without it each engine simulates the network itself.',
  ),
};
