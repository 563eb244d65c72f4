import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
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
