import { launch, untilReady } from '../servers/process.js';
import type { PartSpec } from './part.js';
import { GWK, ROOT, type LocalConfig } from './settings.js';

export interface NetworkSpec {
  config: Pick<LocalConfig, 'networkPort' | 'networkControlPort' | 'networkMediaPort'>;
  /** Where it keeps its people and says where it is. */
  folder: string;
  logFile: string;
}

const START_LIMIT_MS = 60_000;
const STOP_GRACE_MS = 10_000;

/** `gwk network start` as a part, of this machine only. It ends with this process: its standard input does. */
export function networkPart({ config, folder, logFile }: NetworkSpec): PartSpec {
  const ports = {
    '--port': config.networkPort,
    '--control-port': config.networkControlPort,
    '--media-port': config.networkMediaPort,
  };
  const args = Object.entries(ports).flatMap(([name, port]) => [name, String(port)]);
  return {
    name: 'network',
    async start(signal) {
      const child = launch({
        command: process.execPath,
        args: [GWK, 'network', 'start', '--folder', folder, ...args],
        cwd: ROOT,
        env: { PATH: process.env.PATH, HOME: process.env.HOME, GWK_EXIT_WITH_PARENT: 'on' },
        logFile,
        input: { held: true },
      });
      const stop = () => child.stop('SIGTERM', STOP_GRACE_MS);
      const giveUp = () => void stop();
      signal.addEventListener('abort', giveUp, { once: true });
      try {
        await untilReady(child, () => askStatus(config.networkControlPort), START_LIMIT_MS);
      } catch (error) {
        await stop();
        throw error;
      } finally {
        signal.removeEventListener('abort', giveUp);
      }
      return { ended: child.ended, stop };
    },
  };
}

async function askStatus(port: number): Promise<void> {
  const signal = AbortSignal.timeout(2000);
  const answer = await fetch(`http://127.0.0.1:${port}/status`, { method: 'POST', signal });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`the network answers ${answer.status}`);
}
