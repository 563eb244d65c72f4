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
} from '@gwk/core/http/listener-limits';
import { CHANNEL_PATH } from '@gwk/core/protocol/call-channel';
import { tracing } from '@gwk/core/tracing/tracing';
import { API_METRICS } from '@gwk/core/metrics/api';
import { longestTransferMs } from '@gwk/core/resources/media';
import { Histogram, type Registry } from 'prom-client';
import { ClientGone } from '../http/body.js';
import { CLIENT_GONE } from '../http/respond.js';
import { Authentication } from './auth.js';
import { readBody, validate } from './body.js';
import {
  CallChannels,
  isChannelRequest,
  isForChannel,
  type IncomingCall,
  type Reply,
} from './call-channels.js';
import { makeCalls, type Call } from './calls.js';
import type { InternalDeps } from '../engines/dependencies.js';
import { MEDIA_PATHS, sendFinished, takeReceived } from './media-routes.js';
import { followIdentity, readIdentity } from './identity.js';
import { RefusalError } from '../fencing/refusal.js';

/** Returns the answer, in JSON. Undefined: the handler has answered. */
type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

const CLOSE_GRACE_MS = 5_000;
/** Engines try to open their channels again after this time, while their tokens cannot be checked. Each try costs a TLS handshake. */
const REOPEN_AFTER_MS = 5_000;

/**
 * Listener of the internal API, for engines and the operator (core/src/protocol). NetworkPolicies close it to others. It
 * logs ids and codes, never bodies.
 */
export async function startInternalListener(deps: InternalDeps) {
  const authentication = new Authentication(deps.database, deps.config.operatorToken, deps.now);
  const calls = makeCalls(deps, authentication);
  const handlers = makeHandlers(deps, calls, authentication);
  const silenceMs = deps.silenceMs ?? IDLE_TIMEOUT_MS;
  const observe = observer(deps.registry);
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const path = pathOf(request);
    const handler = handlers.get(path);
    const needsUpgrade = isForChannel(request);
    const end = observe(
      handler || needsUpgrade ? path : 'none',
      request.headers['traceparent'] as string | undefined,
    );
    response.on('close', () => end(response.statusCode, response.writableFinished));
    if (handler && request.method === 'POST') void respond(deps, handler, request, response);
    else if (needsUpgrade) {
      response.setHeader('connection', 'upgrade').setHeader('upgrade', 'websocket');
      send(response, 426, { error: 'upgrade-required' });
    } else send(response, 404, { error: 'not-found' });
  };
  const channels = new CallChannels({
    authenticate: (authorization) => admit(deps, authentication, authorization),
    observe: () => observe(CHANNEL_PATH, undefined),
    answer: async (incoming, reply) => {
      const path = `/engine/${incoming.route}`;
      const call = calls.get(path);
      const end = observe(call ? path : 'none', incoming.traceparent);
      await answerCall(deps, { path, call, reply, end }, incoming);
    },
    silenceMs,
  });
  const { internalTlsCert, internalTlsKey, internalHost, internalPort } = deps.config;
  const identity = readIdentity(internalTlsCert, internalTlsKey);
  const options = {
    ...LISTENER_LIMITS,
    // For received files. The body of a call has less (body.ts).
    requestTimeout: longestTransferMs(deps.media.files.maxBytes),
    shouldUpgradeCallback: isChannelRequest,
  };
  const tls = { ...identity, ...options, handshakeTimeout: HANDSHAKE_TIMEOUT_MS };
  const server: Server = identity ? createHttpsServer(tls, answer) : createHttpServer(options, answer);
  server.setTimeout(silenceMs);
  channels.attach(server);
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
      return closeServer(server, channels);
    },
  };
}

/** Time for the calls in flight at a stop; a call whose body does not arrive must not delay the stop. */
async function closeServer(server: Server, channels: CallChannels): Promise<void> {
  const late = setTimeout(() => {
    server.closeAllConnections();
    channels.terminate();
  }, CLOSE_GRACE_MS);
  channels.close();
  await new Promise((resolve) => server.close(resolve));
  clearTimeout(late);
}

/** Only the path of an upload has a query. */
const pathOf = ({ url = '' }: IncomingMessage): string =>
  url.startsWith(`${MEDIA_PATHS.upload}?`) ? MEDIA_PATHS.upload : url;

function makeHandlers(
  deps: InternalDeps,
  calls: ReadonlyMap<string, Call>,
  authentication: Authentication,
): ReadonlyMap<string, Handler> {
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
  for (const [path, { schema, maxBytes, run }] of calls)
    handlers.set(path, (request, response) =>
      run(request.headers, {
        readBody: (take) => readBody(request, schema, { maxBytes, take }),
        reply: (text) => sendAndWait(response, text),
      }),
    );
  return handlers;
}

/** Measures a call. The result is to be called with the status of the answer, and whether the whole answer has left. */
function observer(registry: Registry | undefined) {
  const durations = registry && new Histogram({ ...API_METRICS.internalDuration, registers: [registry] });
  return (route: string, traceparent: string | undefined) => {
    const began = performance.now();
    const span = tracing.child(`POST ${route}`, traceparent, { kind: 'server' });
    return (code: number, isComplete: boolean): void => {
      const status = isComplete ? code : CLIENT_GONE;
      durations?.labels({ route, status: String(status) }).observe((performance.now() - began) / 1000);
      span.end(code >= 500 ? String(code) : null);
    };
  };
}

/** Authenticates the engine that opens a channel. @throws RefusalError */
async function admit(deps: InternalDeps, authentication: Authentication, authorization: string | undefined) {
  try {
    return await authentication.engine(authorization);
  } catch (error) {
    const { refusal } = toRefusal(deps, CHANNEL_PATH, error);
    throw new RefusalError(refusal, refusal === 'unavailable' ? { retry_after_ms: REOPEN_AFTER_MS } : {});
  }
}

interface ChannelReply {
  path: string;
  call: Call | undefined;
  reply: Reply;
  /** Measures the call. */
  end: (status: number, isComplete: boolean) => void;
}

/** Answers a call of a channel. */
async function answerCall(
  deps: InternalDeps,
  { path, call, reply, end }: ChannelReply,
  { authorization, body, bytes }: IncomingCall,
): Promise<void> {
  const send = async (status: number, text: string) => end(status, await reply({ status, text }));
  if (!call) return send(404, JSON.stringify({ error: 'not-found' }));
  try {
    await call.run(
      { authorization },
      {
        readBody: (take) => {
          take(bytes);
          return validate(call.schema, body);
        },
        reply: (text) => send(200, text),
      },
    );
  } catch (error) {
    const refusal = toRefusal(deps, path, error);
    await send(refusal.status, JSON.stringify(refusal.body));
  }
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
    const refusal = toRefusal(deps, pathOf(request), error);
    // The unread rest of a refused body would precede the next request on this connection.
    if (!request.complete) response.setHeader('connection', 'close');
    send(response, refusal.status, refusal.body);
  }
}

function toRefusal({ log }: InternalDeps, route: string, error: unknown): RefusalError {
  if (error instanceof RefusalError) return error;
  log.error({ route, err: error }, 'internal call failed');
  return new RefusalError('unavailable');
}

/** Resolves once the answer has left or its connection is closed. */
async function sendAndWait(response: ServerResponse, text: string): Promise<undefined> {
  if (response.destroyed) return;
  const closed = once(response, 'close');
  sendText(response, 200, text);
  await closed;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  sendText(response, status, JSON.stringify(body));
}

function sendText(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
