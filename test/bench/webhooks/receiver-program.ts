import http from 'node:http';
import net, { type AddressInfo } from 'node:net';

/**
 * A receiver that responds at once and records event ids, and one that accepts connections and never responds. The
 * parent process queries it over IPC.
 */
export interface Received {
  /** Number of calls and of distinct ids. */
  calls: number;
  ids: number;
  /** Unix milliseconds of the first call. */
  first: number;
}

export interface Ports {
  fast: number;
  silent: number;
}

let ids = new Set<string>();
let calls = 0;
let first = 0;

const fast = http.createServer((request, response) => {
  request.resume().on('end', () => {
    calls += 1;
    ids.add(String(request.headers['webhook-id']));
    if (calls === 1) first = Date.now();
    response.writeHead(204).end();
  });
});
fast.keepAliveTimeout = 60_000;
const silent = net.createServer((socket) => socket.on('error', () => undefined).resume());

process.on('message', (order: 'look' | 'forget') => {
  if (order === 'forget') [ids, calls, first] = [new Set(), 0, 0];
  process.send!({ calls, ids: ids.size, first } satisfies Received);
});
process.on('disconnect', () => process.exit(0));

const listening = (server: net.Server) =>
  new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', 1024, () => resolve((server.address() as AddressInfo).port)),
  );
process.send!({ fast: await listening(fast), silent: await listening(silent) } satisfies Ports);
