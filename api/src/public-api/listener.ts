import type { Server } from 'node:http';
import { Server as NetServer, type AddressInfo } from 'node:net';
import { setImmediate as afterReading, setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '@gwk/core/clock';
import { AccessLog } from './access-log.js';
import { createApp, type PublicApp } from './app.js';
import { clientErrorHandler } from './client-error.js';
import type { Exchange } from '../http/exchange.js';
import { health, type HealthOptions } from '../probes/probes.js';
import { startHealthListener, type HealthListener } from '../probes/probe-listener.js';
import { Metrics } from './metrics.js';
import { OPERATIONS } from './operations.js';
import { networkOf } from './rate-limit.js';
import type { Observer } from '../http/respond.js';
import { createServer } from './server.js';
import type { ApiConfig, Services } from '../http/services.js';

/** The public listener: from a socket to the table of operations. */
export interface PublicListener {
  port: number;
  /** Answers what is under way and what still comes meanwhile, then closes. */
  close(): Promise<void>;
}

type StopTimes = Pick<ApiConfig, 'drainMs' | 'stopUnreadyMs' | 'stopIdleMs'>;

/**
 * A stop in steps, so that no request is lost. First readiness turns red and everything else goes on: balancers turn
 * elsewhere, and connections stay, so that few are being opened when the listening ends (what the kernel has taken
 * and we have not is lost then). After that, answers say `Connection: close`, and connections that say nothing for a
 * moment are closed.
 *
 * Between what was read last and a timer something may have come, the more the busier the process: before each of both,
 * what is there is taken.
 */
/** A download that began before says nothing of its connection's end, and may end at any time. */
const SILENT_EVERY_MS = 1_000;
/** What is under way then is answered (500, to be repeated), and the answer gets so long to leave. */
const LAST_WORDS_MS = 2_000;

/** Waits for it, and after its time does what makes it come. */
async function closing(closed: Promise<void>, milliseconds: number, late: () => void): Promise<void> {
  const timer = new AbortController();
  const patience = sleep(milliseconds, 'late', { signal: timer.signal }).catch(() => undefined);
  const outcome = await Promise.race([closed, patience]);
  timer.abort();
  if (outcome === 'late') late();
}

class Tier implements Observer {
  stopping = false;
  closing = false;
  readonly log: AccessLog | null;
  readonly metrics: Metrics;
  readonly clock: Clock;
  app!: PublicApp;

  constructor(services: Services) {
    this.clock = services.clock;
    this.log = services.log.isLevelEnabled('info') ? new AccessLog('api') : null;
    this.metrics = new Metrics(services.registry, () => this.app.inFlight.size);
    this.app = createApp({
      services,
      operations: OPERATIONS,
      health: health({
        ...this.#health(services),
        registry: services.config.metricsPort === 0 ? services.registry : null,
      }),
      observer: this,
    });
  }

  /** The same beside the metrics, on their port. */
  async showMetrics(services: Services): Promise<HealthListener | null> {
    const { host, metricsPort: port } = services.config;
    if (port === 0) return null;
    const { registry } = services;
    return startHealthListener({ host, port }, { ...this.#health(services), registry });
  }

  #health({ db, redis, media }: Services): Omit<HealthOptions, 'registry'> {
    return {
      db,
      redis,
      media: media.watch,
      draining: () => this.stopping,
      closing: () => this.closing,
    };
  }

  answered(req: Exchange, status: number): void {
    this.app.inFlight.leave(req);
    const milliseconds = this.clock.now() - req.arrivedAt;
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
    clientError: clientErrorHandler(
      config.docsUrl ?? config.baseUrl,
      (address) => limiter.peek(`ip:${networkOf(address)}`, config.anonymousRequestsPerMinute),
      tier.app.standstill,
    ),
    maxConnections: config.maxConnections,
    lastResort: (error, req, res) => tier.app.problems.handle(error, req, res),
  });
  const metrics = await tier.showMetrics(services);
  const close = async (): Promise<void> => {
    await drain(server, tier, config);
    await metrics?.close();
  };
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(config.port, config.host, resolve);
    });
  } catch (error) {
    await metrics?.close();
    throw error;
  }
  return { port: (server.address() as AddressInfo).port, close };
}

async function closeSilent(server: Server): Promise<void> {
  await afterReading();
  server.closeIdleConnections();
}

async function drain(server: Server, tier: Tier, times: StopTimes): Promise<void> {
  tier.stopping = true;
  await sleep(times.stopUnreadyMs);
  await afterReading();
  // Not before: whoever is told that its connection ends opens another one, which is lost if it waits to be accepted
  // as the listening ends.
  tier.closing = true;
  // That of HTTP would close connections whose request has just not been read yet.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  await Promise.race([closed, sleep(times.stopIdleMs)]);
  await closeSilent(server);
  const silent = setInterval(() => void closeSilent(server), SILENT_EVERY_MS);
  await closing(closed, times.drainMs, () => tier.app.inFlight.giveUpAll());
  await closing(closed, LAST_WORDS_MS, () => server.closeAllConnections());
  await closed;
  clearInterval(silent);
  server.close();
  tier.app.inFlight.stop();
  tier.app.standstill.stop();
  tier.log?.flush();
}
