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
    "Address of the API's internal listener, for the operator and for the engines it starts.",
  ),
  internalCa: setting(
    'GWK_OPERATOR_INTERNAL_CA',
    types.text().optional(),
    'Certificate authority (PEM) that the internal listener is checked against.',
  ),
  host: setting(
    'GWK_OPERATOR_HOST',
    types.text().default('0.0.0.0'),
    'Address of the health and metrics listener.',
  ),
  port: setting(
    'GWK_OPERATOR_PORT',
    types.integer(0, 65535).default(8083),
    'Port of the health and metrics listener; on one machine it serves the Instance resources too.',
  ),
  cluster: setting(
    'GWK_OPERATOR_CLUSTER',
    types.oneOf('local').default('local'),
    'Where Instance resources and engines live: `local` is a folder of manifests and child processes.',
  ),
  localFolder: setting(
    'GWK_OPERATOR_LOCAL_FOLDER',
    types.text().default('.local/instances'),
    'Folder of the Instance manifests of the local cluster.',
  ),
  localToken: secretSetting(
    'GWK_OPERATOR_LOCAL_TOKEN',
    types.text(32).optional(),
    'What clients of the local cluster show (the API, `gwk instances`).',
  ),
  idleEngineMs: setting(
    'GWK_OPERATOR_IDLE_ENGINE_MS',
    types.integer(1000, 86_400_000).default(600_000),
    'How long an unpaired instance keeps its engine with no pairing under way (milliseconds).',
  ),
  networkUrl: setting(
    'GWK_OPERATOR_NETWORK_URL',
    types.url('ws', 'wss').optional(),
    'Address of another messaging network than the real one, for engines: a simulated one.',
  ),
  networkRoot: setting(
    'GWK_OPERATOR_NETWORK_ROOT',
    types.matching(/^[0-9a-f]{64}$/, '32 bytes in hex').optional(),
    'Key that the certificates of that network come from.',
  ),
  networkCa: setting(
    'GWK_OPERATOR_NETWORK_CA',
    types.text().optional(),
    'Certificate authority (PEM) of the media hosts of that network.',
  ),
  sandboxNetwork: setting(
    'GWK_OPERATOR_SANDBOX_NETWORK',
    types.url('http').optional(),
    'Address of a program that plays the network for sandbox engines; without it each engine plays it alone.',
  ),
};
