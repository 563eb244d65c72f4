import { secretSetting, setting, types } from './load.js';
import * as shared from './shared.js';
import { tracingSettings } from './tracing.js';

/** Settings of `gwk engine`. The rest comes with the lease, from the internal port. */
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
    'Certificate authority (PEM) that the internal listener is pinned to.',
  ),
  token: secretSetting(
    'GWK_ENGINE_TOKEN',
    types.text(),
    "Token of this instance's engine, issued to the operator.",
  ),
  pod: setting('GWK_ENGINE_POD', types.text(), 'Name of the pod that this engine runs in.'),
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
    'Address of a program that plays the network for the sandbox driver; without it the driver plays it alone.',
  ),
  networkUrl: setting(
    'GWK_ENGINE_NETWORK_URL',
    types.url('ws', 'wss').optional(),
    'Address of another messaging network than the real one, a simulated one.',
  ),
  networkRoot: setting(
    'GWK_ENGINE_NETWORK_ROOT',
    types.matching(/^[0-9a-f]{64}$/, '32 bytes in hex').optional(),
    'Key that the certificates of that network come from.',
  ),
  networkCa: setting(
    'GWK_ENGINE_NETWORK_CA',
    types.text().optional(),
    'Certificate authority (PEM) of the media hosts of that network.',
  ),
  metricsInstance: setting(
    'GWK_ENGINE_METRICS_INSTANCE',
    types.flag().default(true),
    'Whether metrics of the number name its instance (label `instance_id`).',
  ),
  ackTimeoutMs: setting(
    'GWK_ENGINE_ACK_TIMEOUT_MS',
    types.integer(100, 120_000).default(20_000),
    'How long the network may take to acknowledge a message before it is sent again under the same id (milliseconds).',
  ),
  idleClaimMs: setting(
    'GWK_ENGINE_IDLE_CLAIM_MS',
    types.integer(100, 60_000).default(5_000),
    'How often an idle engine asks for waiting messages, in case Redis lost the bell (milliseconds).',
  ),
  ...tracingSettings,
};
