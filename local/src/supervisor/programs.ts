import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { start, type Running } from '../servers/process.js';
import { GWK, ROOT, type Environment } from './settings.js';

const run = promisify(execFile);

export class GwkFailed extends Error {
  override name = 'GwkFailed';
}

/** Runs a `gwk` command and returns its output. */
export async function runGwk(args: string[], env: Environment, signal?: AbortSignal): Promise<string> {
  try {
    const { stdout } = await run(process.execPath, [GWK, ...args], {
      cwd: ROOT,
      env,
      ...(signal && { signal }),
    });
    return stdout;
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    throw new GwkFailed(`gwk ${args.slice(0, 2).join(' ')} failed: ${stderr?.trim() || message}`, {
      cause: error,
    });
  }
}

export interface GwkProgram {
  /** Arguments of `gwk`. */
  args: string[];
  env: Environment;
  /** Address that answers with success once the program is ready. */
  readyUrl: string;
  readyMethod?: 'GET' | 'POST';
  logFile: string;
  signal: AbortSignal;
}

/** Starts a `gwk` program. It exits with this process, because its standard input closes. */
export function startGwk({ args, readyUrl, readyMethod, ...program }: GwkProgram): Promise<Running> {
  return start({
    ...program,
    command: process.execPath,
    args: [GWK, ...args],
    cwd: ROOT,
    input: { held: true },
    ready: () => checkAnswer(readyUrl, readyMethod),
    limitMs: 60_000,
    stopSignal: 'SIGTERM',
    graceMs: 30_000,
  });
}

/** @throws Error unless the program answers with success */
async function checkAnswer(url: string, method = 'GET'): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url, { method, headers, signal: AbortSignal.timeout(2000) });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
}
