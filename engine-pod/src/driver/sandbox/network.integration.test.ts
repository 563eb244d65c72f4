import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DriverContext } from '../driver.js';
import { RemoteSandboxNetwork } from './network.js';

let server: Server;
let answer: RequestListener;
const paths: string[] = [];
beforeAll(async () => {
  server = createServer((request, response) => {
    paths.push(request.url!);
    request.resume().on('end', () => answer(request, response));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const open = (path = '') => {
  const { port } = server.address() as AddressInfo;
  const context = { instanceId: 'i', pod: 'p', epoch: 1 } as Partial<DriverContext> as DriverContext;
  return new RemoteSandboxNetwork(`http://127.0.0.1:${port}${path}`, context);
};
const write = (network: RemoteSandboxNetwork, options: { mayWrite?: boolean; signal?: AbortSignal } = {}) => {
  const { mayWrite = true, signal = new AbortController().signal } = options;
  const stanza = { waMessageId: '3EB0', chat: '551@s.whatsapp.net', bytes: Buffer.from('built') };
  return network.write({ ...stanza, mayWrite: () => mayWrite, signal });
};
const accept: RequestListener = (_, response) => response.end('{"ack":true}');

test('a stanza is acknowledged, below the path of the address', async () => {
  answer = accept;
  const network = open('/network');
  await write(network);
  await write(network);
  expect(paths.splice(0)).toEqual(['/network/stanza', '/network/stanza']);
  network.close();
});

test.each<[string, RequestListener]>([
  ['with an error', (_, response) => response.writeHead(500).end('{"ack":true}')],
  ['that is no JSON', (_, response) => response.end('ack')],
  ['that is too long', (_, response) => response.end(JSON.stringify({ ack: true, pad: 'x'.repeat(10_000) }))],
  ['that breaks off', (_, response) => response.write('{"ack":', () => response.destroy())],
  ['that never comes', (request) => request.socket.destroy()],
])('an answer %s leaves the stanza unconfirmed, and the next one is acknowledged', async (_, listener) => {
  const network = open();
  answer = listener;
  await expect(write(network)).rejects.toMatchObject({ certain: false });
  answer = accept;
  await write(network);
  network.close();
});

test('a stanza that may not be written is not written', async () => {
  paths.length = 0;
  const network = open();
  await expect(write(network, { mayWrite: false })).rejects.toMatchObject({ certain: true });
  await expect(write(network, { signal: AbortSignal.abort() })).rejects.toThrow();
  expect(paths).toEqual([]);
  network.close();
});

test('the signal ends the wait for an answer', async () => {
  const network = open();
  const end = new AbortController();
  answer = () => end.abort();
  await expect(write(network, { signal: end.signal })).rejects.toMatchObject({ certain: false });
  network.close();
});
