import type { InstanceKind } from '@gwk/core/states';
import type { NetworkSettings } from './baileys/patches/network-trust.js';
import type { Driver, DriverContext } from './driver.js';
import { LazyDriver } from './lazy.js';
import { SandboxDriver } from './sandbox/driver.js';

export interface NetworkOptions {
  /** Address of a program that simulates the network for sandboxes. */
  sandbox: string | undefined;
  web: NetworkSettings;
}

/**
 * Loads the client of the real network only for instances that use it, because it takes most of an engine's memory.
 */
export function createDriver(kind: InstanceKind, context: DriverContext, networks: NetworkOptions): Driver {
  if (kind === 'sandbox') return new SandboxDriver(context, networks.sandbox);
  return new LazyDriver(context.log, async () => {
    // Must run before anything loads Baileys.
    await import('./baileys/patches/install.js');
    const { BaileysDriver } = await import('./baileys/driver.js');
    return new BaileysDriver(context, networks.web);
  });
}
