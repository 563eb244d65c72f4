import type { ClaimRole } from '../../config/oidc.js';
import { email as emailSchema } from '../../resources/console/session.js';
import { ROLES, type Role } from '../../roles.js';

export interface ProviderSettings {
  issuer: string;
  clientId: string;
  name: string;
  domains: readonly string[];
  claim: string | undefined;
  roles: ReadonlyMap<string, readonly ClaimRole[]>;
}

export type Claims = Readonly<Record<string, unknown>>;

/** A person as the provider describes it. */
export interface ProvidedPerson {
  issuer: string;
  subject: string;
  email: string;
  name: string;
  /** Roles by name of the account, for all accounts that the settings name; null: none. Empty without a claim. */
  roles: ReadonlyMap<string, Role | null>;
}

const MAX_NAME = 80;

/** Whether people with this e-mail (in small letters) may sign in. */
export function isAllowed(email: string, { domains }: Pick<ProviderSettings, 'domains'>): boolean {
  const [, domain, ...rest] = email.split('@');
  return rest.length === 0 && domain !== undefined && domains.includes(domain);
}

/** Reads the claims of a person. Returns null if the e-mail is malformed, not verified or of no allowed domain. */
export function readPerson(
  claims: Claims,
  settings: Pick<ProviderSettings, 'domains' | 'claim' | 'roles'>,
): ProvidedPerson | null {
  const { iss, sub, email: given, email_verified: isVerified, name } = claims;
  if (typeof iss !== 'string' || typeof sub !== 'string' || typeof given !== 'string') return null;
  const { success, data: email } = emailSchema().safeParse(given);
  if (!success) return null;
  // Some providers send the word.
  if (isVerified !== true && isVerified !== 'true') return null;
  if (!isAllowed(email, settings)) return null;
  return {
    issuer: iss,
    subject: sub,
    email,
    name: typeof name === 'string' && name.trim() !== '' ? name.trim().slice(0, MAX_NAME) : email,
    roles: decideRoles(claims, settings),
  };
}

/**
 * The claims of the ID token, and of the user info those that it lacks. E-mail and verification come from one source, because
 * the verification holds only for the e-mail beside it.
 */
export function combineClaims(idToken: Claims, userInfo: Claims): Claims {
  const isComplete = idToken['email'] !== undefined && idToken['email_verified'] !== undefined;
  const { email, email_verified } = isComplete ? idToken : userInfo;
  return { ...userInfo, ...idToken, email, email_verified };
}

/** If the claim gives several roles in one account, the most powerful counts. */
function decideRoles(
  claims: Claims,
  { claim, roles }: Pick<ProviderSettings, 'claim' | 'roles'>,
): ReadonlyMap<string, Role | null> {
  const decided = new Map<string, Role | null>();
  if (claim === undefined) return decided;
  const values = [claims[claim]].flat();
  for (const [value, given] of roles) {
    for (const { account, role } of given) {
      const before = decided.get(account) ?? null;
      decided.set(account, values.includes(value) ? pickStronger(before, role) : before);
    }
  }
  return decided;
}

const pickStronger = (one: Role | null, other: Role): Role =>
  one !== null && ROLES.indexOf(one) < ROLES.indexOf(other) ? one : other;
