import type { NextFunction, RequestHandler } from 'express';
import type { Caller } from '../accounts/caller.js';
import type { KeyDirectory } from '../accounts/api-keys.js';
import type { Exchange } from '../http/exchange.js';

const BEARER = /^Bearer +([^\s]+) *$/i;

/** Looks up the caller. The operation decides whether it needs one, so an unknown path is 404 with and without a key. */
export function authenticate(apiKeys: KeyDirectory): RequestHandler {
  return (request, _res, next: NextFunction) => {
    const req = request as Exchange;
    const given = BEARER.exec(req.headers.authorization ?? '');
    const found = given ? apiKeys.find(given[1]!) : null;
    if (!(found instanceof Promise)) {
      req.caller = found;
      next();
      return;
    }
    found.then((caller: Caller | null) => {
      req.caller = caller;
      next();
    }, next);
  };
}
