import { secretSetting, setting, types } from './load.js';
import * as shared from './shared.js';
import { tracingSettings } from './tracing.js';

/** Settings of `gwk engine`. The engine receives everything else with its lease, from the internal API. */
export const engineSettings = {
  logLevel: shared.logLevel,
  exitWithParent: shared.exitWithParent,
  internalUrl: setting(
    'GWK_ENGINE_INTERNAL_URL',
    types.url('http', 'https'),
    "Address of the API's internal listener.",
  ),
  internalCa: setting(
    'GWK_ENGINE_INTERNAL_CA',
    types.text().optional(),
    'Certificate authority (PEM) that must have signed the certificate of the internal listener.',
  ),
  token: secretSetting(
    'GWK_ENGINE_TOKEN',
    types.text(),
    "Token of this instance's engine. The API issues it to the operator.",
  ),
  pod: setting('GWK_ENGINE_POD', types.text(), 'Name of the pod in which the engine runs.'),
  host: setting(
    'GWK_ENGINE_HOST',
    types.text().default('0.0.0.0'),
    'Address of the health and metrics listener.',
  ),
  port: setting(
    'GWK_ENGINE_PORT',
    types.integer(0, 65535).default(8084),
    'Port of the health and metrics listener.',
  ),
  sandboxNetwork: setting(
    'GWK_ENGINE_SANDBOX_NETWORK',
    types.url('http').optional(),
    'Address of a program that simulates the network for the sandbox driver. Without it the driver simulates the network itself.',
  ),
  networkUrl: setting(
    'GWK_ENGINE_NETWORK_URL',
    types.url('ws', 'wss').optional(),
    'Address of a simulated messaging network to use instead of the real one.',
  ),
  networkRoot: setting(
    'GWK_ENGINE_NETWORK_ROOT',
    types.matching(/^[0-9a-f]{64}$/, '32 bytes in hex').optional(),
    'Root key of the certificates of the simulated network.',
  ),
  networkCa: setting(
    'GWK_ENGINE_NETWORK_CA',
    types.text().optional(),
    'Certificate authority (PEM) of the media hosts of the simulated network.',
  ),
  metricsInstance: setting(
    'GWK_ENGINE_METRICS_INSTANCE',
    types.flag().default(true),
    'Add the label `instance_id` to the metrics of the instance.',
  ),
  ackTimeoutMs: setting(
    'GWK_ENGINE_ACK_TIMEOUT_MS',
    types.integer(100, 120_000).default(20_000),
    'How long the engine waits for the network to acknowledge a message before it sends it again with the same id (milliseconds).',
  ),
  idleClaimMs: setting(
    'GWK_ENGINE_IDLE_CLAIM_MS',
    types.integer(100, 60_000).default(5_000),
    'How often an idle engine claims queued messages, in case Redis lost a notification (milliseconds).',
  ),
  ...tracingSettings,
};
