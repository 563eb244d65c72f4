import { execFile } from 'node:child_process';
import { GWK, ROOT, type Environment } from '../program.js';
import { realTime } from '../wait.js';

export class CommandFailed extends Error {
  override name = 'CommandFailed';
}

/** Only a command that hangs reaches it. */
const LIMIT_MS = realTime(120_000);

/** Runs `gwk ...` and returns its output. */
export function runGwk(args: string[], env: Environment): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [GWK, ...args],
      { cwd: ROOT, env, timeout: LIMIT_MS, maxBuffer: 16 * 1024 * 1024 },
      (error, stdout, stderr) => {
        if (error) reject(new CommandFailed(`gwk ${args.slice(0, 2).join(' ')}: ${stderr || error.message}`));
        else resolve(stdout);
      },
    );
  });
}

export async function runGwkJson<T>(args: string[], env: Environment): Promise<T> {
  const output = await runGwk(args, env);
  try {
    return JSON.parse(output) as T;
  } catch (error) {
    throw new CommandFailed(`gwk ${args.slice(0, 2).join(' ')} printed no JSON`, { cause: error });
  }
}
