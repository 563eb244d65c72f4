import type { NextFunction, RequestHandler } from 'express';
import type { Caller } from '../accounts/caller.js';
import type { KeyDirectory } from '../accounts/api-keys.js';
import type { Exchange } from '../http/exchange.js';

const BEARER = /^Bearer +([^\s]+) *$/i;

/** Finds who calls. Whether somebody has to is the operation's to say: an unknown path is unknown to everybody. */
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
