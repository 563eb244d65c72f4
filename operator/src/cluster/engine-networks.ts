import type { ConfigOf } from '@gwk/core/config/load';
import type { operatorSettings } from '@gwk/core/config/operator';

/** Networks that engines connect to, if not the real one, and the client version that they announce. */
export type EngineNetworks = Pick<
  ConfigOf<typeof operatorSettings>,
  'networkUrl' | 'networkRoot' | 'networkCa' | 'sandboxNetwork' | 'clientVersion'
>;

/** Returns them as settings of `gwk engine`. */
export function buildNetworkSettings(networks: EngineNetworks): Record<string, string> {
  const settings = {
    GWK_ENGINE_NETWORK_URL: networks.networkUrl,
    GWK_ENGINE_NETWORK_ROOT: networks.networkRoot,
    GWK_ENGINE_NETWORK_CA: networks.networkCa,
    GWK_ENGINE_SANDBOX_NETWORK: networks.sandboxNetwork,
    GWK_ENGINE_CLIENT_VERSION: networks.clientVersion === 'auto' ? undefined : networks.clientVersion,
  };
  return Object.fromEntries(
    Object.entries(settings).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
