import { isIPv6 } from 'node:net';
import { Problem } from '@gwk/core/problems';
import type { NextFunction, RequestHandler } from 'express';
import type { RateLimiter, RateVerdict } from '../accounts/rate-limiter.js';
import type { Exchange } from '../http/exchange.js';
import type { ApiConfig } from '../http/services.js';

type RateLimits = Pick<ApiConfig, 'requestsPerMinute' | 'anonymousRequestsPerMinute'>;

/** Limits requests per minute per key, or per address for requests without a key. */
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
  const { caller } = req;
  if (caller) return [caller.keyId, caller.requestsPerMinute ?? limits.requestsPerMinute];
  return [`ip:${getNetwork(req.ip ?? '')}`, limits.anonymousRequestsPerMinute];
}

/** Counts IPv6 addresses by their /64, because a client can use all addresses of its network. */
export function getNetwork(address: string): string {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address);
  if (mapped) return mapped[1]!;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('%')[0]!.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...left, ...Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0'), ...right];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
