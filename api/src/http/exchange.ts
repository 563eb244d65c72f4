import type { InFlightEntry } from '../platform/in-flight-set.js';
import type { Request, Response } from 'express';
import type { Caller } from '../accounts/caller.js';
import type { RateVerdict } from '../accounts/rate-limiter.js';
import type { Session } from '../accounts/sessions.js';

/**
 * A request on its way through the middleware. The constructor of the request (public-api/server.ts) declares all fields, so
 * that all requests have one shape and V8 need not look fields up in maps.
 */
export interface Exchange extends Request {
  requestId: string;
  /** Null: neither a key nor a session with an account. */
  caller: Caller | null;
  /** Null: no session, or the request has a key. */
  session: Session | null;
  /** Null until the rate limiter has counted the request. */
  rate: RateVerdict | null;
  /** Null until the router has matched. */
  operation: Named | null;
  arrivedAt: number;
  /** When this process began to work on it, in milliseconds of the clock; 0 while the client is still sending. */
  workingSince: number;
  /** Its entry in the set of requests in flight (in-flight.ts). */
  inFlight: InFlightEntry<Reply> | null;
  /** Id of the resource that the request created or named, for the access log. */
  subject: string | null;
  /** `traceparent` of the request's span; null: not traced. */
  traceparent: string | null;
  /** Problem code of a refusal, for the access log. */
  refusal: string | null;
}

/** The part of an operation that a request keeps; downloads by link have a name and are in no table. */
export interface Named {
  name: string;
  maxWorkMs?: number | undefined;
  receive?: object | undefined;
}

export type Reply = Response;
