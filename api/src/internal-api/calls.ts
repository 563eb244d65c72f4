import type { IncomingHttpHeaders } from 'node:http';
import { ENGINE_ROUTES, type EngineRoute } from '@gwk/core/protocol/engine';
import { OPERATOR_ROUTES, type OperatorRoute } from '@gwk/core/protocol/operator';
import type { z } from 'zod';
import type { InternalDeps } from '../engines/dependencies.js';
import type { EngineCaller } from '../fencing/fence.js';
import { Leases } from '../engines/leases.js';
import { RedisUsers } from '../engines/redis-users.js';
import type { Authentication } from './auth.js';
import { CallBudget } from './body.js';
import { CallGate } from './call-gate.js';
import { engineHandlers } from './engine-routes.js';
import { operatorHandlers } from './operator-routes.js';

/** A route of the internal API with a JSON body. */
export interface Call {
  schema: z.ZodType;
  maxBytes: number;
  /** @throws RefusalError, errors of `readBody` */
  run: <T>(headers: IncomingHttpHeaders, exchange: CallExchange<T>) => Promise<T>;
}

interface CallExchange<T> {
  /** @param take is to be called with the number of bytes before they are buffered */
  readBody: (take: (bytes: number) => void) => unknown;
  /** Sends the answer, in JSON. Resolves once it has left, or cannot leave any more. */
  reply: (text: string) => Promise<T>;
}

interface Authenticated {
  /** Caller for the limits. Null: the operator, which has none. */
  caller: string | null;
  handle: (body: never) => Promise<unknown>;
}

const OPERATOR = 'operator';
const SESSION_READ = '/engine/session-read';
const SMALL_BODY = 64 * 1024;
const ORDINARY_BODY = 4 * 1024 * 1024;
/** An engine batches up to 2 MB. A single item may be larger, such as a message of 2 MB in the journal. */
const LARGE_BODY = 8 * 1024 * 1024;
const MAX_BYTES: Record<string, number> = {
  '/engine/built': LARGE_BODY,
  '/engine/session-write': LARGE_BODY,
  '/engine/inbound': LARGE_BODY,
  '/engine/notices': ORDINARY_BODY,
  '/engine/outcomes': ORDINARY_BODY,
  [SESSION_READ]: ORDINARY_BODY,
  '/operator/project': ORDINARY_BODY,
};

/** Calls of one engine that run at once and wait, in this process. They leave most connections to Postgres to others. */
const CALLS = { atOnce: 8, waiting: 256 };
/** Calls of one engine with large bodies or answers. They take the memory and the processor of a process. */
const LARGE_CALLS = { atOnce: 1, waiting: 256 };

/** Largest body of a call. docs/security.md lists the bounds of each. */
export const findMaxBytes = (path: string): number => MAX_BYTES[path] ?? SMALL_BODY;

/** The calls by path. */
export function makeCalls(deps: InternalDeps, authentication: Authentication): ReadonlyMap<string, Call> {
  const { config, redis, sealer, log } = deps;
  const forgetTokens = (instanceId: string): void => authentication.forget(instanceId);
  const redisUsers = new RedisUsers(redis, sealer, config, log);
  const services = { leases: new Leases(deps, redisUsers), redisUsers, forgetTokens };
  const engines = engineHandlers(deps, services);
  const operator = operatorHandlers(deps, services);

  const calls = new Map<string, Call>();
  const budget = new CallBudget();
  const gate = new CallGate(CALLS);
  const largeGate = new CallGate(LARGE_CALLS);
  const add = (
    path: string,
    schema: z.ZodType,
    authenticate: (headers: IncomingHttpHeaders) => Authenticated | Promise<Authenticated>,
  ): void => {
    const maxBytes = findMaxBytes(path);
    const run: Call['run'] = async (headers, { readBody, reply }) => {
      const { caller, handle } = await authenticate(headers);
      const work = async () => {
        const held = budget.open(caller ?? OPERATOR);
        try {
          const answer = (await handle((await readBody(held.take)) as never)) ?? {};
          const text = JSON.stringify(answer);
          held.takeAnswer(Buffer.byteLength(text));
          return await reply(text);
        } finally {
          held.close();
        }
      };
      if (caller === null) return work();
      const isLarge = maxBytes === LARGE_BODY || path === SESSION_READ;
      return gate.run(caller, () => (isLarge ? largeGate.run(caller, work) : work()));
    };
    calls.set(path, { schema, maxBytes, run });
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
      return { caller: null, handle };
    });
  }
  return calls;
}
