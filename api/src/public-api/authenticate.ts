import type { NextFunction, RequestHandler } from 'express';
import type { Exchange } from '../http/exchange.js';
import { findCaller } from '../http/find-caller.js';
import type { Services } from '../http/services.js';

/** Looks up the caller. The operation decides whether it needs one, so an unknown path is 404 with and without a key. */
export function authenticate(services: Services): RequestHandler {
  return (request, _res, next: NextFunction) => {
    const req = request as Exchange;
    const found = findCaller(services, req);
    const enter = (credentials: Pick<Exchange, 'caller' | 'session'>) => {
      Object.assign(req, credentials);
      next();
    };
    if (found instanceof Promise) found.then(enter, next);
    else enter(found);
  };
}
