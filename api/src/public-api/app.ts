import { randomUUID } from 'node:crypto';
import express, { type Express, type RequestHandler } from 'express';
import { Problem } from '@gwk/core/problems/problems';
import { createDownloadHandler } from '../media/download.js';
import { LINK_PATH } from '../media/links.js';
import { authenticate } from './authenticate.js';
import { readConsoleAddress } from '../http/console-url.js';
import type { Exchange } from '../http/exchange.js';
import type { InFlight } from '../http/in-flight.js';
import type { Operation } from '../http/operation.js';
import { serveConsole } from './console-files.js';
import { createPages, servePages } from './pages.js';
import { rateLimit } from './rate-limit.js';
import type { Observer } from '../http/respond.js';
import { createHandler } from '../http/route.js';
import type { Services } from '../http/services.js';

interface AppOptions {
  /** Serves probes and metrics, before all other middleware. */
  health: RequestHandler;
  observer: Observer;
  inFlight: InFlight;
}

/**
 * Creates the public API: middleware in the order of the checks, then the table of operations. The server handles its
 * errors (ServerOptions.failed).
 */
export function createApp(
  services: Services,
  operations: readonly Operation[],
  { health, observer, inFlight }: AppOptions,
): Express {
  const { config, clock, limiter } = services;
  const app = bareExpress(config.trustProxy);
  app.use(health);
  app.use((request, response, next) => {
    const req = request as Exchange;
    req.requestId = requestIdOf(req.headers['x-request-id'] as string | undefined);
    req.arrivedAt = req.workingSince = clock.now();
    inFlight.enter(req, response);
    next();
  });
  const { files, links } = services.media;
  app.get(
    LINK_PATH,
    createDownloadHandler({ files, links, downloads: services.transfers.download }, observer),
  );
  if (config.console) app.use(serveConsole(observer, readConsoleAddress(config)));
  app.use(authenticate(services));
  app.use(rateLimit(limiter, config));
  addRoutes(app, operations, (operation) => createHandler(operation, services, observer));
  app.use(servePages(createPages(config), observer));
  app.use(() => {
    throw new Problem('not-found');
  });
  return app;
}

function bareExpress(trustProxy: number): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('query parser', 'simple');
  app.set('trust proxy', trustProxy);
  app.set('case sensitive routing', true);
  app.set('strict routing', true);
  return app;
}

/** Adds the routes in the order of the table, busiest first. */
function addRoutes(
  app: Express,
  operations: readonly Operation[],
  handler: (operation: Operation) => RequestHandler,
): void {
  const byPath = Map.groupBy(operations, ({ path }) => path);
  for (const [path, group] of byPath) {
    // The router writes `/v1/instances/{instance_id}` as `/v1/instances/:instance_id`.
    const route = app.route(path.replaceAll(/\{(\w+)\}/g, ':$1'));
    for (const operation of group) {
      const verb = operation.method.toLowerCase() as 'get' | 'post' | 'patch' | 'delete';
      route[verb](handler(operation));
    }
    const allow = formatAllow(group);
    route.all(() => {
      throw new Problem('method-not-allowed', { allow });
    });
  }
}

/** Every operation that answers GET also answers HEAD (RFC 9110). */
export function formatAllow(operations: readonly Operation[]): string {
  const methods = operations.map(({ method }) => method as string);
  if (methods.includes('GET')) methods.push('HEAD');
  return methods.sort().join(', ');
}

/** 1 to 128 printable ASCII characters. */
const ACCEPTABLE = /^[\x20-\x7e]{1,128}$/;

/** Returns the client's `X-Request-ID` if it is acceptable, else a new id. */
function requestIdOf(given: string | undefined): string {
  return given !== undefined && ACCEPTABLE.test(given) ? given : randomUUID();
}
