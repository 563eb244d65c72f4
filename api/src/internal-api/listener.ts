import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  BACKLOG,
  limitConnections,
  HANDSHAKE_TIMEOUT_MS,
  LISTENER_LIMITS,
  IDLE_TIMEOUT_MS,
} from '@gwk/core/listener-limits';
import { ENGINE_ROUTES, type EngineRoute } from '@gwk/core/protocol/engine';
import { OPERATOR_ROUTES, type OperatorRoute } from '@gwk/core/protocol/operator';
import { tracing } from '@gwk/core/tracing/tracing';
import { API_METRICS } from '@gwk/core/metrics/api';
import { Histogram } from 'prom-client';
import type { z } from 'zod';
import { ClientGone } from '../http/body.js';
import { CLIENT_GONE } from '../http/respond.js';
import { Leases } from '../engines/leases.js';
import { RedisUsers } from '../engines/redis-users.js';
import { Authentication } from './auth.js';
import { BodyBudget, readBody } from './body.js';
import type { EngineCaller, InternalDeps } from '../engines/dependencies.js';
import { MEDIA_PATHS, sendFinished, takeReceived } from './media-routes.js';
import { followIdentity, readIdentity } from './identity.js';
import { engineHandlers } from './engine-routes.js';
import { operatorHandlers } from './operator-routes.js';
import { RefusalError } from '../engines/refusal.js';

/** Returns the answer, in JSON. Undefined: the handler has answered. */
type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

type Authenticate = (request: IncomingMessage) => Authenticated | Promise<Authenticated>;

interface Authenticated {
  /** Caller for the body budget. */
  caller: string;
  handle: (body: never) => Promise<unknown>;
}

const SMALL_BODY = 64 * 1024;
const ORDINARY_BODY = 4 * 1024 * 1024;
const LARGE_BODY = 64 * 1024 * 1024;
const MAX_BYTES: Record<string, number> = {
  '/engine/built': LARGE_BODY,
  '/engine/session-write': LARGE_BODY,
  '/engine/inbound': LARGE_BODY,
  '/engine/notices': ORDINARY_BODY,
  '/engine/outcomes': ORDINARY_BODY,
  '/engine/session-read': ORDINARY_BODY,
  '/operator/project': ORDINARY_BODY,
};

const CLOSE_GRACE_MS = 5_000;

/**
 * Listener of the internal API, for engines and the operator (core/src/protocol). NetworkPolicies close it to others. It
 * logs ids and codes, never bodies.
 */
export async function startInternalListener(deps: InternalDeps) {
  const handlers = makeHandlers(deps);
  const { registry } = deps;
  const durations = registry && new Histogram({ ...API_METRICS.internalDuration, registers: [registry] });
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const began = performance.now();
    const path = pathOf(request);
    const handler = handlers.get(path);
    const route = handler ? path : 'none';
    const { traceparent } = request.headers;
    const span = tracing.child(`POST ${route}`, traceparent as string | undefined, { kind: 'server' });
    response.on('close', () => {
      const status = response.writableFinished ? response.statusCode : CLIENT_GONE;
      durations?.labels({ route, status: String(status) }).observe((performance.now() - began) / 1000);
      span.end(response.statusCode >= 500 ? String(response.statusCode) : null);
    });
    if (handler && request.method === 'POST') void respond(deps, handler, request, response);
    else send(response, 404, { error: 'not-found' });
  };
  const { internalTlsCert, internalTlsKey, internalHost, internalPort } = deps.config;
  const identity = readIdentity(internalTlsCert, internalTlsKey);
  const tls = { ...identity, ...LISTENER_LIMITS, handshakeTimeout: HANDSHAKE_TIMEOUT_MS };
  const server: Server = identity
    ? createHttpsServer(tls, answer)
    : createHttpServer(LISTENER_LIMITS, answer);
  server.setTimeout(deps.silenceMs ?? IDLE_TIMEOUT_MS);
  limitConnections(server, deps.config.internalMaxConnections);
  const unfollow =
    identity &&
    followIdentity(server as HttpsServer, {
      identity,
      log: deps.log,
      read: () => readIdentity(internalTlsCert, internalTlsKey),
    });
  await once(server.listen(internalPort, internalHost, BACKLOG), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    /** Answers the calls in flight, within a few seconds, then closes. */
    close: () => {
      unfollow?.();
      return closeServer(server);
    },
  };
}

/** Time for the calls in flight at a stop; a call whose body does not arrive must not delay the stop. */
async function closeServer(server: Server): Promise<void> {
  const late = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await new Promise((resolve) => server.close(resolve));
  clearTimeout(late);
}

/** Only the path of an upload has a query. */
const pathOf = ({ url = '' }: IncomingMessage): string =>
  url.startsWith(`${MEDIA_PATHS.upload}?`) ? MEDIA_PATHS.upload : url;

function makeHandlers(deps: InternalDeps): ReadonlyMap<string, Handler> {
  const { config, database, redis, sealer, log } = deps;
  const authentication = new Authentication(database, config.operatorToken, deps.now);
  const forgetTokens = (instanceId: string): void => authentication.forget(instanceId);
  const redisUsers = new RedisUsers(redis, sealer, config, log);
  const services = { leases: new Leases(deps, redisUsers), redisUsers, forgetTokens };
  const engines = engineHandlers(deps, services);
  const operator = operatorHandlers(deps, services);
  const callerOf = (request: IncomingMessage) => authentication.engine(request.headers.authorization);

  const handlers = new Map<string, Handler>([
    [
      MEDIA_PATHS.download,
      async (request, response) => sendFinished(deps, await callerOf(request), request, response),
    ],
    [
      MEDIA_PATHS.upload,
      async (request, response) => takeReceived(deps, await callerOf(request), request, response),
    ],
  ]);
  const budget = new BodyBudget();
  const add = (path: string, schema: z.ZodType, authenticate: Authenticate): void => {
    const maxBytes = MAX_BYTES[path] ?? SMALL_BODY;
    handlers.set(path, async (request) => {
      const { caller, handle } = await authenticate(request);
      const held = budget.open(caller);
      try {
        const body = await readBody(request, schema, { maxBytes, take: held.take });
        return (await handle(body as never)) ?? {};
      } finally {
        held.close();
      }
    });
  };
  for (const [name, { request }] of Object.entries(ENGINE_ROUTES)) {
    const handler = engines[name as EngineRoute] as (caller: EngineCaller, body: never) => Promise<unknown>;
    add(`/engine/${name}`, request, async (call) => {
      const caller = await callerOf(call);
      return { caller: caller.instanceId, handle: (body) => handler(caller, body) };
    });
  }
  for (const [name, { request }] of Object.entries(OPERATOR_ROUTES)) {
    const handle = operator[name as OperatorRoute];
    add(`/operator/${name}`, request, (call) => {
      authentication.operator(call.headers.authorization);
      deps.noteOperator?.(call.headers['user-agent']);
      return { caller: 'operator', handle };
    });
  }
  return handlers;
}

async function respond(
  deps: InternalDeps,
  handler: Handler,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const answer = await handler(request, response);
    if (answer !== undefined) send(response, 200, answer);
  } catch (error) {
    if (error instanceof ClientGone) return;
    if (!(error instanceof RefusalError)) {
      deps.log.error({ route: pathOf(request), err: error }, 'internal call failed');
    }
    const refusal = error instanceof RefusalError ? error : new RefusalError('unavailable');
    // The unread rest of a refused body would precede the next request on this connection.
    if (!request.complete) response.setHeader('connection', 'close');
    send(response, refusal.status, { error: refusal.refusal, ...refusal.more });
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
