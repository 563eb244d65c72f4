import { launch, waitUntilReady } from '../servers/process.js';
import type { ComponentSpec } from './component.js';
import { GWK, ROOT, type Environment, type ProgramName } from './settings.js';

interface ProgramSpec {
  name: ProgramName;
  logFile: string;
  env: Environment;
  /** Port of /readyz. */
  port: number;
}

const START_LIMIT_MS = 60_000;
const STOP_GRACE_MS = 30_000;

/** `gwk api`, `gwk worker` or `gwk operator` as a component. */
export function createProgramComponent({ name, logFile, env, port }: ProgramSpec): ComponentSpec {
  const ready = () => checkAnswer(`http://127.0.0.1:${port}/readyz`);
  return createGwkComponent({ name, args: [name], logFile, env, stopGraceMs: STOP_GRACE_MS, ready });
}

interface GwkSpec {
  name: string;
  /** Arguments of `gwk`. */
  args: string[];
  logFile: string;
  env: NodeJS.ProcessEnv;
  stopGraceMs: number;
  /** Rejects while it is not ready. */
  ready: () => Promise<void>;
}

/** A `gwk` command as a component. It exits with this process, because its standard input closes. */
export function createGwkComponent({ name, args, logFile, env, stopGraceMs, ready }: GwkSpec): ComponentSpec {
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
        await waitUntilReady(child, ready, START_LIMIT_MS);
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

/** @throws Error unless the program answers with success */
export async function checkAnswer(url: string, request: RequestInit = {}): Promise<void> {
  const answer = await fetch(url, { ...request, signal: AbortSignal.timeout(2000) });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
}
