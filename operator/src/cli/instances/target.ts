import { instancesSettings } from '@gwk/core/config/commands';
import { loadCommandConfig } from '@gwk/core/config/load';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ADDRESS_FILE, type Address } from '../../cluster/local/address.js';
import { STATE_FOLDER } from '../../cluster/local/disk.js';

/** An error that the user can fix, shown without a stack trace. */
export class CliError extends Error {
  override name = 'CliError';
}

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

const NOT_FOUND =
  'no gateway found on this machine. Start one (make run), run this command in its folder, or set GWK_CLUSTER_URL and GWK_CLUSTER_TOKEN';

/** Path of the file with the operator's address, beside its manifests. */
const ADDRESS_PATH = join('.local', 'instances', STATE_FOLDER, ADDRESS_FILE);

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws CliError */
export function findTarget(env: Environment, from: string): Address {
  const { clusterUrl, clusterToken } = loadCommandConfig(instancesSettings, env);
  if (clusterUrl !== undefined && clusterToken !== undefined) return { url: clusterUrl, token: clusterToken };
  const local = findLocal(from);
  if (!local && clusterUrl !== undefined)
    throw new CliError('GWK_CLUSTER_URL is set, but GWK_CLUSTER_TOKEN is not');
  if (!local) throw new CliError(NOT_FOUND);
  return { url: clusterUrl ?? local.url, token: clusterToken ?? local.token };
}

function findLocal(from: string): Address | null {
  const root = fileURLToPath(new URL('../../../../', import.meta.url));
  for (const folder of [...listParents(from), root]) {
    const address = read(join(folder, ADDRESS_PATH));
    if (address) return address;
  }
  return null;
}

function listParents(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...listParents(parent)];
}

/** @throws CliError */
function read(path: string): Address | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Address;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EACCES')
      throw new CliError(
        `${path} belongs to another user; run this command as the user who runs the gateway`,
      );
    return null;
  }
}
