import { join } from 'node:path';
import { writeJson } from './disk.js';

export const ADDRESS_FILE = 'operator.json';

/** Address of a local operator, which `gwk instances` finds in the operator's folder. */
export interface Address {
  url: string;
  token: string;
}

export async function writeAddress(
  stateFolder: string,
  { host, localToken }: { host: string; localToken?: string | undefined },
  port: number,
): Promise<void> {
  if (localToken === undefined) return;
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const address: Address = { url: `http://${reachable}:${port}`, token: localToken };
  await writeJson(join(stateFolder, ADDRESS_FILE), address);
}
