import { once } from 'node:events';
import type { Server } from 'node:http';
import { Server as NetServer, type AddressInfo } from 'node:net';
import { setImmediate as afterReading, setTimeout as sleep } from 'node:timers/promises';
import { resolvesWithin } from '@gwk/core/async/timeout';
import { getNetwork } from '@gwk/core/http/client-network';
import type { Clock } from '@gwk/core/clock';
import { BACKLOG } from '@gwk/core/http/listener-limits';
import { longestTransferMs } from '@gwk/core/resources/media';
import { AccessLog } from './access-log.js';
import { createApp } from './app.js';
import { clientErrorHandler } from './client-error.js';
import type { Exchange } from '../http/exchange.js';
import { InFlight } from '../http/in-flight.js';
import { health, startHealthListener } from '../probes/probes.js';
import { Metrics } from './metrics.js';
import { CONSOLE_OPERATIONS, OPERATIONS } from './operations.js';
import { ProblemHandler } from './problem-handler.js';
import { CLIENT_GONE, type Observer } from '../http/respond.js';
import { createServer } from './server.js';
import type { ApiConfig, Services } from '../http/services.js';

/** Interval at which idle connections are closed: a response that began before the stop did not announce the close. */
const IDLE_CHECK_MS = 1_000;
/** Time for the final answers (500 with `Retry-After`) to leave after the drain time. */
const FINAL_RESPONSES_MS = 2_000;

class PublicApi implements Observer {
  stopping = false;
  closing = false;
  readonly clock: Clock;
  readonly problems: ProblemHandler;
  readonly inFlight: InFlight;
  readonly log: AccessLog | null;
  readonly metrics: Metrics;

  constructor(services: Services) {
    this.clock = services.clock;
    this.problems = new ProblemHandler(services, this);
    this.inFlight = new InFlight(
      services.clock,
      (problem, req, res) => this.problems.answer(problem, req, res),
      (req) => this.answered(req, CLIENT_GONE),
    );
    this.log = services.log.isLevelEnabled('info') ? new AccessLog() : null;
    this.metrics = new Metrics(services.registry, () => this.inFlight.size);
  }

  answered(req: Exchange, status: number): void {
    this.inFlight.leave(req);
    const milliseconds = this.clock.now() - req.arrivedAt;
    this.metrics.observe(req, status, milliseconds / 1000);
    this.log?.add(req, status, milliseconds);
  }
}

export async function startPublicListener(services: Services) {
  const { config, limiter, db, redis, media, registry, eventFeed } = services;
  const api = new PublicApi(services);
  const probes = {
    db,
    redis,
    media: media.watch,
    draining: () => api.stopping,
    closing: () => api.closing,
  };
  const { host, port, metricsPort } = config;
  const server = createServer({
    app: createApp(services, config.console ? [...OPERATIONS, ...CONSOLE_OPERATIONS] : OPERATIONS, {
      health: health({ ...probes, registry: metricsPort === 0 ? registry : null }),
      observer: api,
      inFlight: api.inFlight,
    }),
    clientError: clientErrorHandler(
      config.docsUrl ?? config.baseUrl,
      (address) => limiter.peek(`ip:${getNetwork(address)}`, config.anonymousRequestsPerMinute),
      api.inFlight,
    ),
    uploadTimeoutMs: longestTransferMs(media.files.maxBytes),
    maxConnections: config.maxConnections,
    ...(config.trustProxy === 0 && { maxConnectionsPerAddress: config.maxConnectionsPerAddress }),
    failed: (error, req, res) => api.problems.handle(error, req, res),
  });
  const metrics =
    metricsPort === 0
      ? null
      : await startHealthListener({ host, port: metricsPort }, { ...probes, registry });
  try {
    await once(server.listen(port, host, BACKLOG), 'listening');
  } catch (error) {
    await metrics?.close();
    throw error;
  }
  return {
    port: (server.address() as AddressInfo).port,
    /** Answers the requests in flight and those that arrive meanwhile, then closes. */
    close: async () => {
      await drain(server, api, config, () => eventFeed.close());
      await metrics?.close();
    },
  };
}

async function closeIdle(server: Server): Promise<void> {
  await afterReading();
  server.closeIdleConnections();
}

/**
 * Stops in steps, so that no request is lost:
 * 1. Readiness fails and everything else goes on, so load balancers stop opening connections. Connections that the kernel
 *    has accepted and this process has not are lost when the listener closes.
 * 2. The listener closes, answers say `Connection: close`, and idle connections are closed.
 * Before each step the process reads all data that has arrived (`afterReading`): a request may wait unread behind a timer.
 */
async function drain(
  server: Server,
  api: PublicApi,
  times: ApiConfig,
  endWaiting: () => void,
): Promise<void> {
  api.stopping = true;
  await sleep(times.stopUnreadyMs);
  await afterReading();
  // Not earlier: a client that reads `Connection: close` opens another connection, which is lost if it is not accepted
  // before the listener closes.
  api.closing = true;
  endWaiting();
  // The `close` of an HTTP server would also close connections whose next request is still unread.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
  await Promise.race([closed, sleep(times.stopIdleMs)]);
  await closeIdle(server);
  const idleCheck = setInterval(() => void closeIdle(server), IDLE_CHECK_MS);
  if (!(await resolvesWithin(closed, times.drainMs))) api.inFlight.giveUpAll();
  if (!(await resolvesWithin(closed, FINAL_RESPONSES_MS))) server.closeAllConnections();
  await closed;
  clearInterval(idleCheck);
  server.close();
  api.inFlight.stop();
  api.log?.flush();
}
