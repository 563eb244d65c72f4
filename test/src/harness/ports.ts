import { randomInt } from 'node:crypto';
import { portIsFree } from '@gwk/local/servers/process';

/**
 * A port below those that the kernel gives to outgoing connections: it stays free while the program that listens
 * there is being restarted.
 */
const LOWEST = 12_000;
const HIGHEST = 32_000;

export async function pickPort(): Promise<number> {
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST);
    if (await portIsFree(port)) return port;
  }
}
