import { launch, untilReady } from '../servers/process.js';
import type { PartSpec } from './part.js';
import { GWK, ROOT, type Environment, type ProgramName } from './settings.js';

export interface ProgramSpec {
  name: ProgramName;
  logFile: string;
  env: Environment;
  /** Where it answers /readyz. */
  port: number;
}

const START_LIMIT_MS = 60_000;
const STOP_GRACE_MS = 30_000;

/** `gwk api`, `gwk worker` or `gwk operator` as a part. */
export function programPart({ name, logFile, env, port }: ProgramSpec): PartSpec {
  const ready = () => askReady(port);
  return gwkPart({ name, args: [name], logFile, env, stopGraceMs: STOP_GRACE_MS, ready });
}

export interface GwkSpec {
  name: string;
  /** Of `gwk`. */
  args: string[];
  logFile: string;
  env: NodeJS.ProcessEnv;
  stopGraceMs: number;
  /** Rejects while it is not ready. */
  ready: () => Promise<void>;
}

/** A `gwk` command as a part. It ends with this process: its standard input does. */
export function gwkPart({ name, args, logFile, env, stopGraceMs, ready }: GwkSpec): PartSpec {
  return {
    name,
    async start(signal) {
      const child = launch({
        command: process.execPath,
        args: [GWK, ...args],
        cwd: ROOT,
        env,
        logFile,
        input: { held: true },
      });
      const stop = () => child.stop('SIGTERM', stopGraceMs);
      const giveUp = () => void stop();
      signal.addEventListener('abort', giveUp, { once: true });
      try {
        await untilReady(child, ready, START_LIMIT_MS);
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

async function askReady(port: number): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(2000) });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`/readyz answers ${answer.status}`);
}
