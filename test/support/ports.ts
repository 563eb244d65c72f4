import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { isPortFree } from '@gwk/local/servers/process';

/**
 * Ports below the range of outgoing connections, so that a port stays free while its program restarts. Also below the
 * NodePort range of Kubernetes.
 */
const LOWEST = 12_000;
const HIGHEST = 29_999;

/**
 * Reserves a port across all processes until this process exits. A program may need seconds before it listens, while
 * other tests pick ports.
 * @throws Error if every port is taken
 */
export async function pickPort(): Promise<number> {
  for (const port of fromAnywhere()) {
    if ((await hold(port)) && (await isPortFree(port))) return port;
  }
  throw new Error(`no port from ${LOWEST} to ${HIGHEST} is free`);
}

/** Every port once, from a random start. */
function* fromAnywhere(): Generator<number> {
  const count = HIGHEST - LOWEST + 1;
  const first = randomInt(count);
  for (let index = 0; index < count; index++) yield LOWEST + ((first + index) % count);
}

/**
 * Binds the UDP port with the same number, which no program here uses, as a lock. The kernel gives it to one process
 * and releases it when that process exits.
 */
function hold(port: number): Promise<boolean> {
  const socket = createSocket('udp4');
  return new Promise((resolve) => {
    socket.once('error', () => socket.close(() => resolve(false)));
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      socket.unref();
      resolve(true);
    });
  });
}
