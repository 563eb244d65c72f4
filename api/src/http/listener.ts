import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
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
 * While readiness is red and answers say `Connection: close`, clients and balancers turn elsewhere by themselves: a
 * connection that is closed by us without a word may have a request on it that we never see.
 */
const FAREWELL_MS = 500;
const DRAIN_MS = 10_000;

class Tier implements Observer {
  draining = false;
  readonly log: AccessLog | null;
  readonly metrics: Metrics;
  app!: PublicApp;

  constructor(services: Services) {
    this.log = services.log.isLevelEnabled('info') ? new AccessLog('api') : null;
    this.metrics = new Metrics(() => this.app.inFlight.size);
    this.app = createApp({
      services,
      operations: OPERATIONS,
      health: health({
        db: services.db,
        redis: services.redis,
        registry: this.metrics.registry,
        draining: () => this.draining,
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
  tier.draining = true;
  await sleep(FAREWELL_MS);
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await closed;
  clearTimeout(timer);
  tier.app.inFlight.stop();
  tier.log?.flush();
}
