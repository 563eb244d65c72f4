import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  limitConnections,
  HANDSHAKE_TIMEOUT_MS,
  LISTENER_LIMITS,
  IDLE_TIMEOUT_MS,
} from '@gwk/core/listener-limits';
import { ENGINE_ROUTES } from '@gwk/core/protocol/engine';
import { OPERATOR_ROUTES } from '@gwk/core/protocol/operator';
import { tracing } from '@gwk/core/tracing/tracing';
import { API_METRICS } from '@gwk/core/metrics/api';
import { Histogram } from 'prom-client';
import type { z } from 'zod';
import { ClientGone } from '../http/body.js';
import { CLIENT_GONE } from '../http/respond.js';
import { Receiver } from '../inbound/receiver.js';
import { Leases } from '../engines/leases.js';
import { RedisUsers } from '../engines/redis-users.js';
import { Authentication } from './auth.js';
import { readBody } from './body.js';
import { BodyBudget } from './body-budget.js';
import { BuiltMessages } from '../engines/built.js';
import { Claims } from '../engines/claims.js';
import type { InternalDeps } from '../engines/dependencies.js';
import { MEDIA_PATHS, sendFinished, takeReceived } from './media-routes.js';
import { followIdentity, readIdentity } from './identity.js';
import { engineHandlers } from './engine-routes.js';
import { operatorHandlers } from './operator-routes.js';
import { MessageCache } from '../engines/message-cache.js';
import { Outcomes } from '../engines/outcomes.js';
import { RefusalError } from '../engines/refusal.js';

export interface InternalListener {
  port: number;
  /** Answers the calls in flight, within a few seconds, then closes. */
  close(): Promise<void>;
}

interface Route {
  maxBytes: number;
  schema: z.ZodType;
  /** Authenticates the call and returns its handler. */
  authenticate(authorization: string | undefined): Promise<Authenticated>;
}

interface Authenticated {
  /** Caller for the body budget. */
  caller: string;
  handle: (request: never) => Promise<unknown>;
}

/** Handles a body or an answer other than JSON. Undefined: the handler has answered. */
type RawRoute = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

interface Routes {
  json: ReadonlyMap<string, Route>;
  raw: ReadonlyMap<string, RawRoute>;
  budget: BodyBudget;
}

const SMALL_BODY = 64 * 1024;
const ORDINARY_BODY = 4 * 1024 * 1024;
const LARGE_BODY = 64 * 1024 * 1024;
const MAX_BYTES: Record<string, number> = {
  '/engine/built': LARGE_BODY,
  '/engine/session-write': LARGE_BODY,
  '/engine/inbound': LARGE_BODY,
  '/engine/outcomes': ORDINARY_BODY,
  '/engine/session-read': ORDINARY_BODY,
  '/operator/project': ORDINARY_BODY,
};

const CLOSE_GRACE_MS = 5_000;

/**
 * Listener of the internal API, for engines and the operator (core/src/protocol). NetworkPolicies close it to others. It
 * logs ids and codes, never bodies.
 */
export async function startInternalListener(deps: InternalDeps): Promise<InternalListener> {
  const routes = makeRoutes(deps);
  const { registry } = deps;
  const durations = registry && new Histogram({ ...API_METRICS.internalDuration, registers: [registry] });
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const began = performance.now();
    const path = pathOf(request);
    const route = routes.json.has(path) || routes.raw.has(path) ? path : 'none';
    const { traceparent } = request.headers;
    const span = tracing.child(`POST ${route}`, traceparent as string | undefined, { kind: 'server' });
    response.on('close', () => {
      const status = response.writableFinished ? response.statusCode : CLIENT_GONE;
      durations?.labels({ route, status: String(status) }).observe((performance.now() - began) / 1000);
      span.end(response.statusCode >= 500 ? String(response.statusCode) : null);
    });
    void respond(deps, routes, request, response);
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
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(internalPort, internalHost, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      unfollow?.();
      return closeServer(server);
    },
  };
}

/** Time for the calls in flight at a stop; a call whose body does not arrive must not delay the stop. */
async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const late = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
  await closed;
  clearTimeout(late);
}

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0]!;

function makeRoutes(deps: InternalDeps): Routes {
  const { config, database, redis, sealer, log } = deps;
  const authentication = new Authentication(database, config.operatorToken, deps.now);
  const forgetTokens = (instanceId: string): void => authentication.forget(instanceId);
  const { redisUrl, redisCa: ca, engineRedisUrl, redisPrefix: prefix, redisAcl: acl } = config;
  const redisUsers = new RedisUsers(redis, sealer, { redisUrl, engineRedisUrl, prefix, acl, ca }, log);
  const leases = new Leases(deps, redisUsers);
  const known = new MessageCache();
  const engines = engineHandlers(deps, {
    leases,
    claims: new Claims(deps, known),
    built: new BuiltMessages(deps, known),
    outcomes: new Outcomes(deps, known),
    receiver: new Receiver(deps),
    forgetTokens,
  });
  const operator = operatorHandlers(deps, { leases, redisUsers, forgetTokens });

  const routes = new Map<string, Route>();
  const add = (path: string, schema: z.ZodType, authenticate: Route['authenticate']): void => {
    routes.set(path, { maxBytes: MAX_BYTES[path] ?? SMALL_BODY, schema, authenticate });
  };
  for (const [name, { request }] of Object.entries(ENGINE_ROUTES)) {
    const handler = engines[name as keyof typeof engines] as (
      caller: unknown,
      body: unknown,
    ) => Promise<unknown>;
    add(`/engine/${name}`, request, async (authorization) => {
      const caller = await authentication.engine(authorization);
      return { caller: caller.instanceId, handle: (body) => handler(caller, body) };
    });
  }
  for (const [name, { request }] of Object.entries(OPERATOR_ROUTES)) {
    const handler = operator[name as keyof typeof operator];
    add(`/operator/${name}`, request, async (authorization) => {
      authentication.operator(authorization);
      return { caller: 'operator', handle: handler };
    });
  }
  return { json: routes, raw: mediaRoutes(deps, authentication), budget: new BodyBudget() };
}

function mediaRoutes(deps: InternalDeps, authentication: Authentication): Map<string, RawRoute> {
  const callerOf = (request: IncomingMessage) => authentication.engine(request.headers.authorization);
  return new Map<string, RawRoute>([
    [
      MEDIA_PATHS.download,
      async (request, response) => sendFinished(deps, await callerOf(request), request, response),
    ],
    [MEDIA_PATHS.upload, async (request) => takeReceived(deps, await callerOf(request), request)],
  ]);
}

async function respond(
  deps: InternalDeps,
  routes: Routes,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await perform(routes, request, response);
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

async function perform(routes: Routes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const isPost = request.method === 'POST';
  const raw = isPost ? routes.raw.get(pathOf(request)) : undefined;
  if (raw) {
    const answer = await raw(request, response);
    return answer === undefined ? undefined : send(response, 200, answer);
  }
  const route = isPost ? routes.json.get(request.url ?? '') : undefined;
  if (!route) return send(response, 404, { error: 'not-found' });
  const { caller, handle } = await route.authenticate(request.headers.authorization);
  const held = routes.budget.open(caller);
  try {
    const parsed = route.schema.safeParse(await readBody(request, route.maxBytes, held.take));
    // Report only path and kind of an issue: the message may quote the body.
    if (!parsed.success)
      throw new RefusalError('invalid', { issues: parsed.error.issues.map(describeIssue) });
    send(response, 200, (await handle(parsed.data as never)) ?? {});
  } finally {
    held.close();
  }
}

function describeIssue({ path, code, message }: z.core.$ZodIssue): { path: string; message: string } {
  return { path: path.join('.'), message: code === 'unrecognized_keys' ? 'unknown fields' : message };
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
