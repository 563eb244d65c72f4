import type { IncomingHttpHeaders } from 'node:http';
import { ENGINE_ROUTES, type EngineRoute } from '@gwk/core/protocol/engine';
import { OPERATOR_ROUTES, type OperatorRoute } from '@gwk/core/protocol/operator';
import type { z } from 'zod';
import type { EngineCaller, InternalDeps } from '../engines/dependencies.js';
import { Leases } from '../engines/leases.js';
import { RedisUsers } from '../engines/redis-users.js';
import type { Authentication } from './auth.js';
import { BodyBudget } from './body.js';
import { engineHandlers } from './engine-routes.js';
import { operatorHandlers } from './operator-routes.js';

/** A route of the internal API with a JSON body. */
export interface Call {
  schema: z.ZodType;
  maxBytes: number;
  /**
   * @param readBody gets a function to call with the number of bytes before they are buffered
   * @throws RefusalError, errors of `readBody`
   */
  run: (
    headers: IncomingHttpHeaders,
    readBody: (take: (bytes: number) => void) => unknown,
  ) => Promise<unknown>;
}

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

/** The calls by path. */
export function makeCalls(deps: InternalDeps, authentication: Authentication): ReadonlyMap<string, Call> {
  const { config, redis, sealer, log } = deps;
  const forgetTokens = (instanceId: string): void => authentication.forget(instanceId);
  const redisUsers = new RedisUsers(redis, sealer, config, log);
  const services = { leases: new Leases(deps, redisUsers), redisUsers, forgetTokens };
  const engines = engineHandlers(deps, services);
  const operator = operatorHandlers(deps, services);

  const calls = new Map<string, Call>();
  const budget = new BodyBudget();
  const add = (
    path: string,
    schema: z.ZodType,
    authenticate: (headers: IncomingHttpHeaders) => Authenticated | Promise<Authenticated>,
  ): void => {
    const run: Call['run'] = async (headers, readBody) => {
      const { caller, handle } = await authenticate(headers);
      const held = budget.open(caller);
      try {
        return (await handle((await readBody(held.take)) as never)) ?? {};
      } finally {
        held.close();
      }
    };
    calls.set(path, { schema, maxBytes: MAX_BYTES[path] ?? SMALL_BODY, run });
  };
  for (const [name, { request }] of Object.entries(ENGINE_ROUTES)) {
    const handler = engines[name as EngineRoute] as (caller: EngineCaller, body: never) => Promise<unknown>;
    add(`/engine/${name}`, request, async ({ authorization }) => {
      const caller = await authentication.engine(authorization);
      return { caller: caller.instanceId, handle: (body) => handler(caller, body) };
    });
  }
  for (const [name, { request }] of Object.entries(OPERATOR_ROUTES)) {
    const handle = operator[name as OperatorRoute];
    add(`/operator/${name}`, request, (headers) => {
      authentication.operator(headers.authorization);
      deps.noteOperator?.(headers['user-agent']);
      return { caller: 'operator', handle };
    });
  }
  return calls;
}
