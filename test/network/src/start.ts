import { ControlServer } from './control/server.js';
import { NetworkClient } from './control/client.js';
import { Network, type NetworkOptions } from './network.js';

export interface StartOptions extends NetworkOptions {
  controlPort?: number;
}

export interface RunningNetwork {
  network: Network;
  client: NetworkClient;
  /** `ws://...`, the address for clients. */
  url: string;
  controlUrl: string;
  /** Address of the web client's service worker script. */
  webClientUrl: string;
  /** The key that clients must trust, 32 bytes. */
  root: Buffer;
  close(): Promise<void>;
}

/** Starts the network and its control API. */
export async function startNetwork(options: StartOptions = {}): Promise<RunningNetwork> {
  const network = await new Network(options).listen();
  const control = new ControlServer(network);
  const controlUrl = await control.listen(options.controlPort, options.host);
  return {
    network,
    client: new NetworkClient(controlUrl),
    url: network.url,
    controlUrl,
    webClientUrl: network.webClientUrl,
    root: Buffer.from(network.world.certificates.root.public),
    close: async () => {
      await control.close();
      await network.close();
    },
  };
}
