import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { onShutdown } from '@gwk/core/process/lifecycle';
import { MEDIA_CERTIFICATE } from './media/certificate.js';
import { whereaboutsFile } from './program-file.js';
import { startNetwork } from './start.js';
import { passKeyObjects } from './wire/key-objects.js';

export interface ProgramOptions {
  folder: string;
  port: number;
  controlPort: number;
  mediaPort: number;
  host: string;
  /** Starts empty and stores nothing. */
  forget?: boolean;
}

/** Addresses of a running network, for clients and for test programs. */
export interface Whereabouts {
  /** For clients, `ws://...`. */
  url: string;
  /** The key that clients must trust, in hex. */
  root: string;
  /** File with the certificate of the media hosts: NODE_EXTRA_CA_CERTS of a client that runs in Node. */
  media_ca: string;
  /** URL of the control API. */
  control: string;
  /** Address of the web client's service worker script. */
  web_client: string;
}

/** `gwk network start`: runs the network until SIGINT or SIGTERM. */
export async function runProgram(options: ProgramOptions): Promise<void> {
  const { folder, port, controlPort, mediaPort, host } = options;
  passKeyObjects();
  const stateFile = options.forget ? undefined : join(folder, 'network-state.json');
  const running = await startNetwork({
    port,
    controlPort,
    mediaPort,
    host,
    ...(stateFile !== undefined && { stateFile }),
  });
  onShutdown(() => running.close(), { exitWithParent: process.env.GWK_EXIT_WITH_PARENT === 'on' });
  const file = whereaboutsFile(folder);
  const ca = resolve(folder, 'network-media-ca.pem');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(ca, MEDIA_CERTIFICATE.cert);
  const whereabouts: Whereabouts = {
    url: running.url,
    root: running.root.toString('hex'),
    media_ca: ca,
    control: running.controlUrl,
    web_client: running.webClientUrl,
  };
  writeFileSync(file, `${JSON.stringify(whereabouts, undefined, 2)}\n`);
  process.stdout.write(`${JSON.stringify(whereabouts)}\n`);
}
