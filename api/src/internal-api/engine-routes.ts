import type { EngineResponse, EngineRoute, ENGINE_ROUTES } from '@gwk/core/protocol/engine';
import type { z } from 'zod';
import { ClientVersionAnswers } from '../client-version/answer.js';
import type { Leases } from '../engines/leases.js';
import { recordPairing, recordUnlinked } from '../instances/pairing/engine-updates.js';
import { readSession, writeSession } from '../engines/session.js';
import { SessionBound } from '../engines/session-bound.js';
import { readSent, BuiltMessages } from '../engines/built.js';
import { Claims } from '../engines/claims.js';
import type { InternalDeps } from '../engines/dependencies.js';
import type { EngineCaller } from '../fencing/fence.js';
import { recordNotices } from '../inbound/notices/record.js';
import { InboundRate, type InboundAmount } from '../inbound/inbound-rate.js';
import { Receiver } from '../inbound/receiver.js';
import { MessageCache } from '../engines/message-cache.js';
import { recordNames, recordUsernames } from '../engines/names.js';
import { Outcomes } from '../engines/outcomes.js';
import type { RedisUsers } from '../engines/redis-users.js';
import { RefusalError } from '../fencing/refusal.js';
import { recordRestriction, recordStates } from '../engines/states.js';

type ParsedRequest<R extends EngineRoute> = z.output<(typeof ENGINE_ROUTES)[R]['request']>;

/** Result of a handler. The listener answers `{}` for void. */
export type HandlerResult<T> = Promise<string extends keyof T ? void : T>;

type EngineHandlers = {
  [R in EngineRoute]: (caller: EngineCaller, request: ParsedRequest<R>) => HandlerResult<EngineResponse<R>>;
};

export interface InternalServices {
  leases: Leases;
  redisUsers: RedisUsers;
  /** Called when tokens of an instance may have been revoked. */
  forgetTokens: (instanceId: string) => void;
}

/** Handlers of the engine routes. The token determines the instance; no request names one. */
export function engineHandlers(
  deps: InternalDeps,
  { leases, forgetTokens }: InternalServices,
): EngineHandlers {
  const known = new MessageCache();
  const claims = new Claims(deps, known);
  const built = new BuiltMessages(deps, known);
  const outcomes = new Outcomes(deps, known);
  const receiver = new Receiver(deps);
  const rate = new InboundRate(deps);
  const count = ({ instanceId }: EngineCaller, items: readonly unknown[]): Promise<void> =>
    rate.take(instanceId, measureInbound(items));
  const bound = new SessionBound(deps.database, deps.config.maxSessionMb);
  const versions = new ClientVersionAnswers(deps.database);
  return {
    acquire: async (caller, request) => {
      if (request.pod !== caller.pod) throw new RefusalError('unauthorized');
      const acquired = await leases.acquire(caller, request);
      forgetTokens(caller.instanceId);
      return acquired;
    },
    renew: (caller, request) => leases.renew(caller, request),
    release: (caller, request) => leases.release(caller, request),
    'redis-user': (caller, request) => leases.restoreRedisUser(caller, request),
    claims: (caller, request) => claims.claim(caller, request),
    names: (caller, request) => recordNames(deps, caller, request),
    usernames: (caller, request) =>
      count(caller, request.people).then(() => recordUsernames(deps, caller, request)),
    built: (caller, request) => built.store(caller, request),
    sent: (caller, request) => readSent(deps, caller, request),
    restricted: (caller, request) =>
      count(caller, [request]).then(() => recordRestriction(deps, caller, request)),
    outcomes: (caller, request) => outcomes.record(caller, request),
    state: (caller, request) =>
      count(caller, request.changes).then(() => recordStates(deps, caller, request)),
    pairing: (caller, request) => count(caller, [request]).then(() => recordPairing(deps, caller, request)),
    unlinked: (caller, request) => recordUnlinked(deps, caller, request),
    'client-version': ({ instanceId }, request) => versions.answer(instanceId, request),
    'session-read': (caller, request) => readSession(deps, caller, request),
    'session-write': (caller, request) => writeSession({ ...deps, bound }, caller, request),
    notices: (caller, { notices, ...lease }) =>
      count(caller, notices).then(() => recordNotices(deps, caller, { notices, lease })),
    inbound: async (caller, { epoch, holder, messages }) => {
      await count(caller, messages);
      const { instanceId } = caller;
      const lease = { epoch, holder };
      const received = await Promise.all(
        messages.map((message) => receiver.receive({ instanceId, lease, message })),
      );
      const refusal = received.find((result) => result === 'fenced' || result === 'gone');
      if (refusal) throw new RefusalError(refusal);
    },
  };
}

const measureInbound = (items: readonly unknown[]): InboundAmount => ({
  events: items.length,
  bytes: Buffer.byteLength(JSON.stringify(items)),
});
