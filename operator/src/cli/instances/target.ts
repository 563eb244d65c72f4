import { instancesSettings } from '@gwk/core/config/instances';
import { loadConfig } from '@gwk/core/config/load';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ADDRESS_FILE, type Address } from '../../cluster/local/address.js';
import { STATE_FOLDER } from '../../cluster/local/disk.js';

/** Something that the person at the terminal can mend; shown without a stack. */
export class CliError extends Error {
  override name = 'CliError';
}

const NOTHING_FOUND =
  'no gateway was found on this machine. Start one (make run), run this from its folder, or set GWK_CLUSTER_URL and GWK_CLUSTER_TOKEN';

/** Where the operator of a gateway on this machine writes its address: beside its manifests. */
const PLACE = join('.local', 'instances', STATE_FOLDER, ADDRESS_FILE);

type Environment = Readonly<Record<string, string | undefined>>;

/** @throws CliError */
export function findTarget(env: Environment, from: string): Address {
  const { clusterUrl, clusterToken } = loadConfig(instancesSettings, only(env));
  if (clusterUrl !== undefined && clusterToken !== undefined) return { url: clusterUrl, token: clusterToken };
  const local = findLocal(from);
  if (!local && clusterUrl !== undefined)
    throw new CliError('GWK_CLUSTER_URL is set and GWK_CLUSTER_TOKEN is not');
  if (!local) throw new CliError(NOTHING_FOUND);
  return { url: clusterUrl ?? local.url, token: clusterToken ?? local.token };
}

/** A shell in which a whole gateway is configured holds settings of other programs as well. */
function only(env: Environment): Environment {
  const names = Object.values(instancesSettings).flatMap((item) => [item.env, `${item.env}_FILE`]);
  return Object.fromEntries(names.map((name) => [name, env[name]]));
}

function findLocal(from: string): Address | null {
  const root = fileURLToPath(new URL('../../../../', import.meta.url));
  for (const folder of [...upwardsFrom(from), root]) {
    const address = read(join(folder, PLACE));
    if (address) return address;
  }
  return null;
}

function upwardsFrom(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...upwardsFrom(parent)];
}

/** @throws CliError */
function read(path: string): Address | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Address;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EACCES')
      throw new CliError(`${path} belongs to another user; run this as the one who runs the gateway`);
    return null;
  }
}
