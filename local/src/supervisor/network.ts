import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ComponentSpec } from './component.js';
import { checkAnswer, createGwkComponent } from './programs.js';
import type { LocalConfig } from './settings.js';

interface NetworkSpec {
  config: Pick<LocalConfig, 'networkPort' | 'networkControlPort' | 'networkMediaPort'>;
  /** Folder of its state and its address file. */
  folder: string;
  logFile: string;
}

const STOP_GRACE_MS = 10_000;

/** `gwk network start` as a component, on this machine only. */
export function createNetworkComponent({ config, folder, logFile }: NetworkSpec): ComponentSpec {
  const ports = {
    '--port': config.networkPort,
    '--control-port': config.networkControlPort,
    '--media-port': config.networkMediaPort,
  };
  const args = Object.entries(ports).flatMap(([name, port]) => [name, String(port)]);
  return createGwkComponent({
    name: 'network',
    args: ['network', 'start', '--folder', folder, ...args],
    logFile,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, GWK_EXIT_WITH_PARENT: 'on' },
    stopGraceMs: STOP_GRACE_MS,
    ready: () =>
      checkAnswer(`http://127.0.0.1:${config.networkControlPort}/status`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
      }),
  });
}

/** Address of a simulated network, and the certificates that engines must trust. */
export interface NetworkAddress {
  url: string;
  root: string;
  /** File with the certificate of its media hosts. */
  media_ca: string;
}

/** Reads the address of a network started in this folder. */
export function readNetworkAddress(folder: string): NetworkAddress {
  return JSON.parse(readFileSync(join(folder, 'network.json'), 'utf8')) as NetworkAddress;
}
