import { ROLES, type Role } from '@gwk/core/roles';
import type { ProviderSettings } from './provider.js';

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

/** Reads the claims of a person. Returns null if the e-mail is not verified or of no allowed domain. */
export function readPerson(
  claims: Readonly<Record<string, unknown>>,
  settings: Pick<ProviderSettings, 'domains' | 'claim' | 'roles'>,
): ProvidedPerson | null {
  const { iss, sub, email: given, email_verified: isVerified, name } = claims;
  if (typeof iss !== 'string' || typeof sub !== 'string' || typeof given !== 'string') return null;
  const email = given.toLowerCase();
  // Some providers send the word.
  if (isVerified !== true && isVerified !== 'true') return null;
  const [, domain, ...rest] = email.split('@');
  if (rest.length > 0 || domain === undefined || !settings.domains.includes(domain)) return null;
  return {
    issuer: iss,
    subject: sub,
    email,
    name: typeof name === 'string' && name.trim() !== '' ? name.trim().slice(0, MAX_NAME) : email,
    roles: decideRoles(claims, settings),
  };
}

/** If the claim gives several roles in one account, the most powerful counts. */
function decideRoles(
  claims: Readonly<Record<string, unknown>>,
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
