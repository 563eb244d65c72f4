import { hash, timingSafeEqual } from 'node:crypto';
import { parseTokens } from '@gwk/core/config/shared';
import { Problem } from '@gwk/core/problems/problems';
import type { Session } from '../accounts/sessions.js';
import { findConsoleUrl } from './console-url.js';
import type { Exchange } from './exchange.js';
import type { Operation } from './operation.js';
import type { ApiConfig } from './services.js';

type OriginSettings = Pick<ApiConfig, 'baseUrl' | 'consoleUrl' | 'consoleOrigins'>;
type FactorSettings = Pick<ApiConfig, 'adminMfa'>;
type Settings = OriginSettings & FactorSettings & Pick<ApiConfig, 'platformToken'>;

/** Methods that change nothing. */
const SAFE = new Set(['GET', 'HEAD']);

/**
 * Checks a request to an operation of the console.
 * @throws Problem
 */
export function authorizePerson(
  person: NonNullable<Operation['person']>,
  req: Exchange,
  settings: Settings,
): void {
  const { session } = req;
  if (person === 'portal') return checkPlatformToken(req, settings);
  if (person === 'anyone') {
    if (!SAFE.has(req.method)) requireOrigin(req, settings);
    return;
  }
  if (!session)
    throw new Problem('unauthorized', {
      detail: { pt: 'A sessão está ausente ou expirou.', en: 'The session is missing or has expired.' },
    });
  checkChange(req, session, settings);
  if (person === 'signed-in') return;
  if (person === 'platform-admin') {
    if (!session.isPlatformAdmin) throw new Problem('forbidden');
    requireAdminFactor(session, settings);
    return;
  }
  const { permissions, caller } = requireAccount(session, settings);
  const rights = new Set<string>([...permissions, ...caller.scopes]);
  if (!rights.has(person)) throw new Problem('forbidden');
}

const BEARER = /^Bearer +([^\s]+) *$/i;

/**
 * Digests have one length, and all tokens are compared, so the time reveals neither the length nor which one fits.
 * @throws Problem `unauthorized`
 */
function checkPlatformToken({ headers }: Exchange, { platformToken }: Settings): void {
  const digest = (token: string): Buffer => hash('sha256', token, 'buffer');
  const given = digest(BEARER.exec(headers.authorization ?? '')?.[1] ?? '');
  const tokens = parseTokens(platformToken() ?? '').filter((token) => token !== '');
  const fitting = tokens.filter((token) => timingSafeEqual(given, digest(token)));
  if (fitting.length === 0)
    throw new Problem('unauthorized', {
      detail: { pt: 'O token da plataforma é inválido.', en: 'The platform token is invalid.' },
    });
}

/**
 * Checks a request by session to an operation of the HTTP interface; scopes are checked like those of a key.
 * @throws Problem
 */
export function checkSessionRequest(
  req: Exchange,
  session: Session,
  settings: OriginSettings & FactorSettings,
): void {
  checkChange(req, session, settings);
  requireAccount(session, settings);
}

/** A cookie is sent with requests of foreign pages too, so a change must prove that it comes from the console. */
function checkChange(req: Exchange, session: Session, settings: OriginSettings): void {
  if (SAFE.has(req.method)) return;
  requireOrigin(req, settings);
  const given = Buffer.from(String(req.headers['x-csrf-token'] ?? ''));
  const expected = Buffer.from(session.csrfToken);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new Problem('csrf-failed');
  }
}

/** Returns the origin of the console that sends a request. @throws Problem `origin-not-allowed` */
export function requireOrigin(req: Exchange, settings: OriginSettings): string {
  const { baseUrl, consoleOrigins } = settings;
  const given = req.headers.origin ?? req.headers.referer;
  const origin = given !== undefined && URL.canParse(given) ? new URL(given).origin : null;
  const publicUrls = [baseUrl, findConsoleUrl(settings)];
  const allowed = [...publicUrls.flatMap(listPublicOrigins), ...consoleOrigins];
  if (origin === null || !allowed.includes(origin)) throw new Problem('origin-not-allowed');
  return origin;
}

/** Passkeys need a host name. So a gateway on one machine is also the console at `localhost`, on the same port. */
function listPublicOrigins(baseUrl: string): string[] {
  const url = new URL(baseUrl);
  const { origin } = url;
  if (url.hostname !== '127.0.0.1') return [origin];
  url.hostname = 'localhost';
  return [origin, url.origin];
}

/** An administrator of the platform has all accounts, so the rule holds for these too. @throws Problem `mfa-not-verified` */
function requireAdminFactor(
  { isPlatformAdmin, hasSecondFactor }: Session,
  { adminMfa }: FactorSettings,
): void {
  if (adminMfa && isPlatformAdmin && !hasSecondFactor) throw new Problem('mfa-not-verified');
}

function requireAccount(session: Session, settings: FactorSettings): NonNullable<Session['access']> {
  const { access } = session;
  if (!access) throw new Problem('no-account');
  requireAdminFactor(session, settings);
  if (access.lacksMfa) throw new Problem('mfa-not-verified');
  return access;
}
