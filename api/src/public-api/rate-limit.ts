import { getNetwork } from '@gwk/core/http/client-network';
import { Problem } from '@gwk/core/problems/problems';
import type { NextFunction, RequestHandler } from 'express';
import { nameActor } from '../accounts/caller.js';
import type { RateLimiter, RateVerdict } from '../accounts/rate-limiter.js';
import type { Exchange } from '../http/exchange.js';
import type { ApiConfig } from '../http/services.js';

type RateLimits = Pick<ApiConfig, 'requestsPerMinute' | 'anonymousRequestsPerMinute'>;

/** Limits requests per minute per key or person, or per address for requests without either. */
export function rateLimit(limiter: RateLimiter, limits: RateLimits): RequestHandler {
  return (request, _res, next: NextFunction) => {
    const req = request as Exchange;
    const verdict = limiter.count(...selectSubject(req, limits));
    if (verdict instanceof Promise) verdict.then((rate) => judge(req, rate, next), next);
    else judge(req, verdict, next);
  };
}

function judge(req: Exchange, rate: RateVerdict, next: NextFunction): void {
  req.rate = rate;
  next(rate.allowed ? undefined : new Problem('rate-limited', { retryAfter: rate.reset }));
}

/** Returns the subject that a request counts for, and its limit. */
export function selectSubject(req: Exchange, limits: RateLimits): [subject: string, limit: number] {
  const { caller, session } = req;
  if (caller) {
    return [nameActor(caller.credential), caller.requestsPerMinute ?? limits.requestsPerMinute];
  }
  if (session) return [`user:${session.userId}`, limits.requestsPerMinute];
  return [`ip:${getNetwork(req.ip ?? '')}`, limits.anonymousRequestsPerMinute];
}
