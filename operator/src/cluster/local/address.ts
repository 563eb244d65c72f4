import { join } from 'node:path';
import { writePrivateJson } from './state-file.js';

export const ADDRESS_FILE = 'operator.json';

/** Address of a local operator, which `gwk instances` and `gwk pair` find in the folder of the gateway. */
export interface Address {
  url: string;
  token: string;
}

export async function writeAddress(
  folder: string,
  { host, localToken }: { host: string; localToken?: string | undefined },
  port: number,
): Promise<void> {
  if (localToken === undefined) return;
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const address: Address = { url: `http://${reachable}:${port}`, token: localToken };
  await writePrivateJson(join(folder, ADDRESS_FILE), address);
}
