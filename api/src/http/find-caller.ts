import type { Caller } from '../accounts/caller.js';
import type { Session } from '../accounts/sessions.js';
import type { Exchange } from './exchange.js';
import type { Services } from './services.js';
import { SessionCookie } from './session-cookie.js';

/** Other schemes belong to a proxy in front, for example one that asks for a password (Basic). */
const KEY_SCHEME = /^Bearer(?: |$)/i;
const BEARER = /^Bearer +([^\s]+) *$/i;

export interface Credentials {
  caller: Caller | null;
  session: Session | null;
}

/** Looks up the caller of a request by key, else by the cookie of a session; synchronously if the key is cached. */
export function findCaller(
  { apiKeys, sessions, config }: Pick<Services, 'apiKeys' | 'sessions' | 'config'>,
  { headers }: Pick<Exchange, 'headers'>,
): Credentials | Promise<Credentials> {
  const { authorization, cookie } = headers;
  if (!KEY_SCHEME.test(authorization ?? '') && cookie !== undefined && config.console) {
    const token = new SessionCookie(config).read(cookie);
    if (token === null) return NOBODY;
    return sessions
      .find(token, headers['x-gwk-account'] as string | undefined)
      .then((session) => ({ session, caller: session?.access?.caller ?? null }));
  }
  const given = BEARER.exec(authorization ?? '');
  const found = given ? apiKeys.find(given[1]!) : null;
  return found instanceof Promise ? found.then(ofKey) : ofKey(found);
}

const NOBODY: Credentials = { caller: null, session: null };
const ofKey = (caller: Caller | null): Credentials => ({ caller, session: null });
