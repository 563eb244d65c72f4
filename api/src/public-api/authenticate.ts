import type { NextFunction, RequestHandler } from 'express';
import type { Caller } from '../accounts/caller.js';
import type { Session } from '../accounts/sessions.js';
import type { Exchange } from '../http/exchange.js';
import type { Services } from '../http/services.js';
import { SessionCookie } from '../http/session-cookie.js';

/** Other schemes belong to a proxy in front, for example one that asks for a password (Basic). */
const KEY_SCHEME = /^Bearer(?: |$)/i;
const BEARER = /^Bearer +([^\s]+) *$/i;

/**
 * Looks up the caller by key, else by the cookie of a session. The operation decides whether it needs one, so an unknown
 * path is 404 with and without a key.
 */
export function authenticate({ apiKeys, sessions, config }: Services): RequestHandler {
  const sessionCookie = new SessionCookie(config);
  return (request, _res, next: NextFunction) => {
    const req = request as Exchange;
    const { authorization, cookie } = req.headers;
    if (!KEY_SCHEME.test(authorization ?? '') && cookie !== undefined && config.console) {
      const token = sessionCookie.read(cookie);
      if (token === null) return next();
      sessions
        .find(token, req.headers['x-gwk-account'] as string | undefined)
        .then((session: Session | null) => {
          req.session = session;
          req.caller = session?.access?.caller ?? null;
          next();
        }, next);
      return;
    }
    const given = BEARER.exec(authorization ?? '');
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
