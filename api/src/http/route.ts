import type { Clock } from '@gwk/core/clock';
import type { Caller } from '../accounts/caller.js';
import { recordVisit } from '../accounts/sessions.js';
import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import type { RequestHandler } from 'express';
import { tracing } from '@gwk/core/tracing/tracing';
import { readJson } from './body.js';
import type { Exchange, Reply } from './exchange.js';
import { findCaller } from './find-caller.js';
import { handleIdempotently } from './idempotency/handle-idempotently.js';
import { idKindOf, type Call, type Operation, type Receiver } from './operation.js';
import { respond, type Observer } from './respond.js';
import { authorizePerson, checkSessionRequest } from './session-access.js';
import type { Services } from './services.js';
import { SessionCookie } from './session-cookie.js';
import { respondStream } from './stream.js';
import { checkSuspension } from './suspension.js';
import { parseQuery, validate } from './validate.js';

/**
 * Creates the request handler of one operation. Checks run in a fixed order: key or session and rate limit before this handler, then
 * scope, then shape, and last whether the named resources exist.
 */
export function createHandler(operation: Operation, services: Services, observer: Observer): RequestHandler {
  const methodHandler = async (request: unknown, response: unknown): Promise<void> => {
    const req = request as Exchange;
    const res = response as Reply;
    req.operation = operation;
    if (tracing.on) traceRequest(operation, req, res, services.clock);
    authorize(operation, req, services);
    if (req.session) await recordVisit(services.db, req.session);
    const received = operation.receive && (await receive(operation.receive, req, services));
    try {
      const body = operation.body && (await bodyOf(operation, req, received, services.clock));
      if (operation.body && req.session) await authorizeAgain(operation, req, services);
      const query = operation.query && parseQuery(operation.query, req.query);
      const call = callOf(operation, req, { query, body, received, services });
      const answer = operation.idempotent
        ? await handleIdempotently(operation, call as Call<never, never>, services)
        : await operation.handle(call as Call<never, never>);
      if (answer.stream) {
        const failed = (error: unknown): void =>
          services.log.error({ err: error, request_id: req.requestId }, 'stream failed');
        respondStream(req, res, answer.stream, { observer, failed });
      } else respond(req, res, answer, observer);
    } finally {
      if (received) release(operation.receive!, received, services);
    }
  };
  return methodHandler;
}

/** Traces the request from arrival to answer. The span has the route, never ids or parameters of the client. */
function traceRequest({ method, path }: Operation, req: Exchange, res: Reply, clock: Clock): void {
  const span = tracing.root(`${method} ${path}`, req.headers['traceparent'] as string | undefined, {
    kind: 'server',
    since: Date.now() - (clock.now() - req.arrivedAt),
    attributes: { 'http.request.method': method, 'http.route': path },
  });
  req.traceparent = span.traceparent;
  res.once('close', () => {
    span.set({ 'http.response.status_code': res.statusCode });
    span.end(res.statusCode >= 500 ? (req.refusal ?? 'error') : null);
  });
}

async function receive(receiver: Receiver, req: Exchange, services: Services): Promise<unknown> {
  req.workingSince = 0;
  const received = await receiver.read(req, services);
  req.workingSince = services.clock.now();
  return received;
}

/** Runs in the background. Retention removes whatever it fails to release. */
function release(receiver: Receiver, received: unknown, services: Services): void {
  receiver
    .release(received as never, services)
    .catch((error: unknown) => services.log.warn({ err: error }, 'received body was not released'));
}

function authorize(operation: Operation, req: Exchange, { config }: Services): void {
  if (operation.person === undefined) authorizeScope(operation, req, config);
  else authorizePerson(operation.person, req, config);
  if (operation.unrestricted && req.caller && req.caller.instances !== null) throw new Problem('forbidden');
  if (req.caller) checkSuspension(operation, req.caller);
}

function authorizeScope(
  operation: Pick<Operation, 'scope' | 'orScope'>,
  req: Exchange,
  config: Services['config'],
): void {
  if (operation.scope === null) return;
  if (req.session) checkSessionRequest(req, req.session, config);
  const { caller } = req;
  if (!caller) throw new Problem('unauthorized');
  const { scope, orScope } = operation;
  if (!caller.scopes.has(scope) && !(orScope && caller.scopes.has(orScope))) {
    if (req.session) throw new Problem('forbidden');
    throw new Problem('insufficient-scope', { required_scope: scope });
  }
}

/**
 * Checks during a long answer that the caller may still read it.
 * @throws Problem like the operation
 */
export async function authorizeStill(
  operation: Pick<Operation, 'scope' | 'orScope'>,
  req: Exchange,
  services: Services,
): Promise<Caller> {
  Object.assign(req, await findCaller(services, req));
  authorizeScope(operation, req, services.config);
  return req.caller!;
}

/** The body may take long to arrive, and the session or its rights may end meanwhile. */
async function authorizeAgain(operation: Operation, req: Exchange, services: Services): Promise<void> {
  const token = new SessionCookie(services.config).read(req.headers.cookie)!;
  req.session = await services.sessions.findFresh(token, req.headers['x-gwk-account'] as string | undefined);
  req.caller = req.session?.access?.caller ?? null;
  authorize(operation, req, services);
}

async function bodyOf(
  operation: Operation,
  req: Exchange,
  received: unknown,
  clock: Clock,
): Promise<unknown> {
  if (operation.receive) return operation.receive.identity(received as never);
  req.workingSince = 0;
  const value = await readJson(req, operation.bodyOptional);
  req.workingSince = clock.now();
  return value === undefined || operation.bodyAsGiven ? value : validate(operation.body!, value);
}

function callOf(
  operation: Operation,
  req: Exchange,
  judged: { query: unknown; body: unknown; received: unknown; services: Services },
): Call {
  return {
    ...judged,
    caller: req.caller!,
    session: req.session,
    exchange: req,
    params: paramsOf(req),
    ifMatch: req.headers['if-match'],
    idempotencyKey: req.headers['idempotency-key'] as string | undefined,
    requestId: req.requestId,
    traceparent: req.traceparent,
    // handleIdempotently replaces it by the id of the first request with the same key.
    resourceId: operation.idempotent ? newUuid() : '',
    resumed: false,
    note: (subject) => (req.subject = subject),
  };
}

const NONE: Readonly<Record<string, string>> = {};

/** @throws Problem `not-found` for a malformed id */
function paramsOf(req: Exchange): Readonly<Record<string, string>> {
  const given = req.params;
  const names = Object.keys(given);
  if (names.length === 0) return NONE;
  const params: Record<string, string> = {};
  for (const name of names) {
    const value = String(given[name]);
    const kind = idKindOf(name);
    const id = kind === undefined ? value : fromPublicId(kind, value);
    if (id === null) throw new Problem('not-found');
    if (kind !== undefined) req.subject = value;
    params[name] = id;
  }
  return params;
}
