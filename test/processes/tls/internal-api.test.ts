import { followIdentity, readIdentity, type Identity } from '@gwk/api/internal-api/identity';
import { createLogger } from '@gwk/core/process/log';
import { makeServerCertificate } from '@gwk/operator/secrets/certificate';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:tls';
import { until } from '../../support/wait.js';

/** Renewal of the certificate of the internal API while it listens. */
const first = await makeServerCertificate(['localhost']);
const second = await makeServerCertificate(['localhost']);
const lines: string[] = [];
const log = createLogger('test', 'info', { write: (line: string) => void lines.push(line) });

let server: Server;
let identity: Identity;
let unfollow: () => void;

beforeEach(async () => {
  identity = first;
  server = createServer(identity, (_, response) => response.end('ok')).listen(0, '127.0.0.1');
  unfollow = followIdentity(server, { identity, read: () => identity, log, everyMs: 20 });
  await once(server, 'listening');
});
afterEach(() => {
  unfollow();
  server.closeAllConnections();
  server.close();
});

/** Whether a client that trusts only this authority accepts the certificate. */
async function isTrusted(ca: string): Promise<boolean> {
  const { port } = server.address() as AddressInfo;
  const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca });
  return new Promise((resolve) => {
    socket.once('secureConnect', () => resolve(true)).once('error', () => resolve(false));
  }).finally(() => socket.destroy()) as Promise<boolean>;
}

test('serves the new certificate to new connections', async () => {
  expect(await isTrusted(first.ca)).toBe(true);
  identity = second;
  await until(() => isTrusted(second.ca), { what: 'the new certificate is served' });
  expect(await isTrusted(first.ca)).toBe(false);
});

test('serves a new certificate only when its key has arrived', async () => {
  identity = { cert: second.cert, key: first.key };
  await until(() => lines.some((line) => line.includes('not usable')), {
    what: 'the mismatch is logged',
  });
  expect(await isTrusted(first.ca)).toBe(true);
  identity = second;
  await until(() => isTrusted(second.ca), { what: 'the new certificate is served' });
});

test('rejects a certificate without a key in the settings', () => {
  expect(() =>
    readIdentity(
      () => 'cert',
      () => undefined,
    ),
  ).toThrow(/set together/);
  expect(
    readIdentity(
      () => undefined,
      () => undefined,
    ),
  ).toBeUndefined();
});
