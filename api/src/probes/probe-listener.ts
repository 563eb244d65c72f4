import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { dropOldestConnections, LISTENER_LIMITS, IDLE_TIMEOUT_MS } from '@gwk/core/listener-limits';
import { health, type HealthOptions } from './probes.js';

/** Starts a listener with /livez, /readyz and /metrics only. */
export interface HealthListener {
  port: number;
  close(): Promise<void>;
}

export async function startHealthListener(
  { host, port }: { host: string; port: number },
  options: HealthOptions,
): Promise<HealthListener> {
  const answer = health(options);
  const server = http.createServer(LISTENER_LIMITS, (req, res) => {
    void answer(req as never, res as never, () => res.writeHead(404).end());
  });
  server.setTimeout(IDLE_TIMEOUT_MS);
  dropOldestConnections(server);
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
