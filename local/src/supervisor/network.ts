import type { PartSpec } from './part.js';
import { gwkPart } from './programs.js';
import type { LocalConfig } from './settings.js';

export interface NetworkSpec {
  config: Pick<LocalConfig, 'networkPort' | 'networkControlPort' | 'networkMediaPort'>;
  /** Where it keeps its people and says where it is. */
  folder: string;
  logFile: string;
}

const STOP_GRACE_MS = 10_000;

/** `gwk network start` as a part, of this machine only. */
export function networkPart({ config, folder, logFile }: NetworkSpec): PartSpec {
  const ports = {
    '--port': config.networkPort,
    '--control-port': config.networkControlPort,
    '--media-port': config.networkMediaPort,
  };
  const args = Object.entries(ports).flatMap(([name, port]) => [name, String(port)]);
  return gwkPart({
    name: 'network',
    args: ['network', 'start', '--folder', folder, ...args],
    logFile,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, GWK_EXIT_WITH_PARENT: 'on' },
    stopGraceMs: STOP_GRACE_MS,
    ready: () => askStatus(config.networkControlPort),
  });
}

async function askStatus(port: number): Promise<void> {
  const signal = AbortSignal.timeout(2000);
  const answer = await fetch(`http://127.0.0.1:${port}/status`, { method: 'POST', signal });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`the network answers ${answer.status}`);
}
