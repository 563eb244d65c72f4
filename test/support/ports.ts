import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { isPortFree } from '@gwk/local/servers/process';

/**
 * Ports below those that the kernel gives to outgoing connections: one stays free while the program that listens
 * there is being restarted. And below those that Kubernetes opens on nodes for services.
 */
const LOWEST = 12_000;
const HIGHEST = 29_999;

/**
 * A port that no other caller is given, in whatever process, until this process ends: seconds pass before a program
 * listens there, and other tests pick ports meanwhile.
 *
 * @throws where every port is taken.
 */
export async function pickPort(): Promise<number> {
  for (const port of fromAnywhere()) {
    if ((await hold(port)) && (await isPortFree(port))) return port;
  }
  throw new Error(`no port from ${LOWEST} to ${HIGHEST} is free`);
}

/** Every port once, from one that is chosen at random. */
function* fromAnywhere(): Generator<number> {
  const count = HIGHEST - LOWEST + 1;
  const first = randomInt(count);
  for (let index = 0; index < count; index++) yield LOWEST + ((first + index) % count);
}

/**
 * Takes the UDP port of the same number, which no program here uses: the kernel gives it to one process only, and
 * takes it back however that process ends.
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
