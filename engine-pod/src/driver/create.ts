import type { engineSettings } from '@gwk/core/config/engine';
import type { ConfigOf } from '@gwk/core/config/load';
import type { Logger } from '@gwk/core/process/log';
import type { OpenPairing } from '@gwk/core/protocol/engine';
import type { ProxyAgents } from '@gwk/core/proxy/agents';
import type { ProxyConfig } from '@gwk/core/proxy/proxy';
import type { InstanceKind } from '@gwk/core/states';
import type { ConnectionEvent, Driver, DriverContext } from './driver.js';
import { SandboxDriver } from './sandbox/driver.js';

/** `sandboxNetwork`: address of a program that simulates the network for sandboxes. */
type NetworkConfig = ProxyConfig &
  Pick<ConfigOf<typeof engineSettings>, 'sandboxNetwork' | 'networkUrl' | 'networkRoot' | 'networkCa'>;

/**
 * Loads the client of the real network only for instances that use it, because it takes most of an engine's memory.
 */
export function createDriver(kind: InstanceKind, context: DriverContext, config: NetworkConfig): Driver {
  if (kind === 'sandbox') return new SandboxDriver(context, config.sandboxNetwork);
  return new LazyDriver(context.log, async () => {
    // Must run before anything loads Baileys.
    await import('./baileys/patches/install.js');
    const { BaileysDriver } = await import('./baileys/driver.js');
    const { networkUrl: url, networkRoot: root, networkCa: ca } = config;
    return new BaileysDriver(context, { url, root, ca, agents: await loadAgents(config) });
  });
}

/** The code for proxies takes 1 to 3 MB of memory, so engines without a proxy do not load it. */
async function loadAgents(config: ProxyConfig): Promise<ProxyAgents | null> {
  if ((config.proxyUrl() ?? config.standardProxyUrl) === undefined) return null;
  return (await import('@gwk/core/proxy/agents')).openAgents(config);
}

/** Loads the driver on first use. Calls reach it in order. */
class LazyDriver implements Driver {
  readonly #log: Logger;
  readonly #load: () => Promise<Driver>;
  #driver: Promise<Driver> | undefined;
  #connection = 0;

  constructor(log: Logger, load: () => Promise<Driver>) {
    this.#log = log;
    this.#load = load;
  }

  connect(listen: (event: ConnectionEvent) => void, pairing: OpenPairing | null): void {
    const connection = ++this.#connection;
    this.#loadOnce().then(
      (driver) => {
        if (connection === this.#connection) driver.connect(listen, pairing);
      },
      (error: unknown) => {
        this.#log.error({ err: error }, 'driver could not be loaded');
        const disconnect = { kind: 'dropped', reason: 'no_driver', reconnect: 'slowly' } as const;
        if (connection === this.#connection) listen({ kind: 'closed', disconnect });
      },
    );
  }

  async close(): Promise<void> {
    this.#connection += 1;
    if (this.#driver) await (await this.#driver).close();
  }

  readonly logout = this.#forward('logout');
  readonly takePasskey = this.#forward('takePasskey');
  readonly checkContact = this.#forward('checkContact');
  readonly markRead = this.#forward('markRead');
  readonly sendPresence = this.#forward('sendPresence');
  readonly listGroups = this.#forward('listGroups');
  readonly findGroup = this.#forward('findGroup');
  readonly build = this.#forward('build');
  readonly send = this.#forward('send');
  readonly edit = this.#forward('edit');

  #forward<Name extends Exclude<keyof Driver, 'connect' | 'close'>>(name: Name): Driver[Name] {
    const call = async (...values: unknown[]): Promise<unknown> => {
      const driver = (await this.#loadOnce()) as Record<Name, (...values: unknown[]) => unknown>;
      return driver[name](...values);
    };
    return call as Driver[Name];
  }

  #loadOnce(): Promise<Driver> {
    return (this.#driver ??= this.#load());
  }
}
