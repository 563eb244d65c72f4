import { secretSetting, setting, types } from './load.js';
import { proxySettings } from './proxy.js';
import * as shared from './shared.js';
import { tracingSettings } from './tracing.js';

/** Settings of `gwk engine`. The engine receives everything else with its lease, from the internal API. */
export const engineSettings = {
  ...shared.program,
  ...shared.internalApi('GWK_ENGINE', "Address of the API's internal listener."),
  token: secretSetting(
    'GWK_ENGINE_TOKEN',
    types.text(),
    "Token of this instance's engine. The API issues it to the operator.",
  ),
  pod: setting('GWK_ENGINE_POD', types.text(), 'Name of the pod in which the engine runs.'),
  ...shared.healthListener('GWK_ENGINE', 8084),
  ...shared.simulatedNetworks('GWK_ENGINE'),
  ...proxySettings('GWK_ENGINE', 'the connection to the network and its media files'),
  clientVersion: shared.clientVersion(
    'GWK_ENGINE',
    'Client version that the engine announces to the network. `auto`: the version that the network serves to its own web client. `bundled`: the version of the Baileys in this release. A version pinned with `gwk network-version pin` wins over both. A version, such as 2.3000.1044142122: engines announce it and ignore pins.',
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
