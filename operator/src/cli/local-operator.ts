import { loadCommandConfig } from '@gwk/core/config/load';
import { localSettings } from '@gwk/core/config/local';
import { OperatorDesiredState } from '@gwk/core/desired-state/desired-state';
import { CliError } from '@gwk/core/process/cli-error';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ADDRESS_FILE, type Address } from '../cluster/local/address.js';

const EXPECTED = [
  'CliError',
  'ConfigError',
  'DesiredStateUnavailable',
  'KubeError',
  'ResourceConflict',
  'ResourceInvalid',
];

/** Runs a command. Prints only the message of an error that the user can fix. */
export async function runCommand(name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { name: kind, message } = error as Error;
    if (!EXPECTED.includes(kind)) throw error;
    process.stderr.write(`gwk ${name}: ${message}\n`);
    process.exitCode = 1;
  }
}

const TIMEOUT_MS = 15_000;
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Finds the gateway of `make run`. Null: it has never run. @throws CliError */
export function findLocalOperator(
  env: Readonly<Record<string, string | undefined>>,
): OperatorDesiredState | null {
  const { folder } = loadCommandConfig({ folder: localSettings.folder }, env);
  const path = join(resolve(ROOT, folder), ADDRESS_FILE);
  try {
    const address = JSON.parse(readFileSync(path, 'utf8')) as Address;
    return new OperatorDesiredState({ ...address, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new CliError(`${path} is not readable: ${message}`, { cause: error });
  }
}
