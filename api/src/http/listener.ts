import type { Server } from 'node:http';
import { Server as NetServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AccessLog } from './access-log.js';
import { createApp, type PublicApp } from './app.js';
import { clientErrorHandler } from './client-error.js';
import type { Exchange } from './exchange.js';
import { health } from './health.js';
import { Metrics } from './metrics.js';
import { OPERATIONS } from './operations.js';
import { networkOf } from './rate-limit.js';
import type { Observer } from './respond.js';
import { createServer } from './server.js';
import type { Services } from './services.js';

/** The public listener: from a socket to the table of operations. */
export interface PublicListener {
  port: number;
  /** Answers what is under way and what still comes meanwhile, then closes. */
  close(): Promise<void>;
}

/**
 * A stop in steps, so that no request is lost. First readiness turns red and everything else goes on: balancers turn
 * elsewhere, and connections stay, so that few are being opened when the listening ends (what the kernel has taken
 * and we have not is lost then). After that, answers say `Connection: close`, and connections that say nothing for a
 * moment are closed.
 */
const RED_MS = 500;
const SILENCE_MS = 500;
const DRAIN_MS = 10_000;

class Tier implements Observer {
  stopping = false;
  closing = false;
  readonly log: AccessLog | null;
  readonly metrics: Metrics;
  app!: PublicApp;

  constructor(services: Services) {
    this.log = services.log.isLevelEnabled('info') ? new AccessLog('api') : null;
    this.metrics = new Metrics(services.registry, () => this.app.inFlight.size);
    this.app = createApp({
      services,
      operations: OPERATIONS,
      health: health({
        db: services.db,
        redis: services.redis,
        registry: services.registry,
        draining: () => this.stopping,
      }),
      observer: this,
    });
  }

  answered(req: Exchange, status: number): void {
    this.app.inFlight.leave(req);
    const milliseconds = performance.now() - req.arrivedAt;
    this.metrics.observe(req, status, milliseconds / 1000);
    this.log?.add(req, status, milliseconds);
  }
}

export async function startPublicListener(services: Services): Promise<PublicListener> {
  const { config, limiter } = services;
  const tier = new Tier(services);
  const server = createServer({
    app: tier.app.express,
    listener: tier.app.listener,
    clientError: clientErrorHandler(config.docsUrl ?? config.baseUrl, (address) =>
      limiter.peek(`ip:${networkOf(address)}`, config.anonymousRequestsPerMinute),
    ),
    lastResort: (error, req, res) => tier.app.problems.handle(error, req, res),
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.port, config.host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => drain(server, tier) };
}

async function drain(server: Server, tier: Tier): Promise<void> {
  tier.stopping = true;
  await sleep(RED_MS);
  tier.closing = true;
  // That of HTTP would close connections whose request has just not been read yet.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  await Promise.race([closed, sleep(SILENCE_MS)]);
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(timer);
  server.close();
  tier.app.inFlight.stop();
  tier.log?.flush();
}
