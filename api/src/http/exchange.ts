import type { InFlightEntry } from '@gwk/core/in-flight-set';
import type { Request, Response } from 'express';
import type { Caller } from '../accounts/caller.js';
import type { RateVerdict } from '../accounts/rate-limiter.js';

/**
 * A request and its answer on their way through the middleware. The fields are declared by the constructor of the
 * request (server.ts), so all requests have one shape and nothing is looked up in maps.
 */
export interface Exchange extends Request {
  requestId: string;
  /** Null: no key, or one that is not known. */
  caller: Caller | null;
  /** Null until the request has been counted. */
  rate: RateVerdict | null;
  /** Null until a route has been found. */
  operation: Named | null;
  arrivedAt: number;
  /** Since when this process has been at work on it; 0 while the client is still sending. */
  workingSince: number;
  /** Its entry among those in flight (in-flight.ts). */
  inFlight: InFlightEntry<Reply> | null;
  /** For the access log: what the request made or named. */
  subject: string | null;
  /** Of the request's own span; null where its trace is not kept. */
  traceparent: string | null;
  /** Why the answer was a refusal, for the access log. */
  refusal: string | null;
}

/** The part of an operation that a request keeps; downloads by link have a name and are in no table. */
export interface Named {
  name: string;
  patienceMs?: number | undefined;
  receive?: object | undefined;
}

export type Reply = Response;
