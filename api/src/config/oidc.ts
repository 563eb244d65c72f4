import { isRole, ROLES, type Role } from '../roles.js';
import { rotatingSetting, setting, types, type ConfigOf } from '@gwk/core/config/load';

/** A role that a value of the claim gives. */
export interface ClaimRole {
  /** Name of the account. */
  account: string;
  role: Role;
}

/** Settings of the provider of OpenID Connect with which people sign in to the console. */
export const oidcSettings = {
  oidcIssuer: setting(
    'GWK_API_OIDC_ISSUER',
    types.parsed(parseIssuer).optional(),
    'Issuer of the OpenID Connect provider with which people sign in to the console, for example `https://login.example.com`. Without it there is no such sign-in.',
  ),
  oidcClientId: setting(
    'GWK_API_OIDC_CLIENT_ID',
    types.text(1, 500).optional(),
    'Client id of gwk at the provider. Required with GWK_API_OIDC_ISSUER. The redirect address is `<origin>/console/oidc`, for each origin of GWK_API_BASE_URL, GWK_API_CONSOLE_URL and GWK_API_CONSOLE_ORIGINS at which people open the console.',
  ),
  oidcClientSecret: rotatingSetting(
    'GWK_API_OIDC_CLIENT_SECRET',
    types.text(1, 1000).optional(),
    'Client secret of gwk at the provider. Without it gwk is a public client.',
  ),
  oidcName: setting(
    'GWK_API_OIDC_NAME',
    types.text(1, 40).default('SSO'),
    'Name of the provider, shown at the sign-in.',
  ),
  oidcScopes: setting(
    'GWK_API_OIDC_SCOPES',
    types
      .matching(/^[\x21-\x7e]+( [\x21-\x7e]+)*$/, 'scopes separated by spaces')
      .default('openid email profile'),
    'Scopes that gwk asks for, separated by spaces.',
  ),
  oidcDomains: setting(
    'GWK_API_OIDC_DOMAINS',
    types.parsed(parseDomains).optional(),
    'Domains of the e-mails that may sign in with the provider, separated by commas. Required with GWK_API_OIDC_ISSUER.',
  ),
  oidcClaim: setting(
    'GWK_API_OIDC_CLAIM',
    types.text(1, 200).optional(),
    'Claim with the groups of a person, a text or a list of texts, for example `groups`. Without it people have the roles that gwk gives them.',
  ),
  oidcRoles: setting(
    'GWK_API_OIDC_ROLES',
    types.parsed(parseClaimRoles).optional(),
    'Roles by value of GWK_API_OIDC_CLAIM, as JSON: `{"staff": [{"account": "acme", "role": "agent"}]}`. Required with GWK_API_OIDC_CLAIM. They replace the roles of the person in these accounts at each sign-in.',
  ),
  oidcPasswords: setting(
    'GWK_API_OIDC_PASSWORDS',
    types.flag().default(true),
    'Sign-in by password and by passkey alone, beside the provider. With `off` people sign in with the provider or by a one-time link.',
  ),
};

export type OidcConfig = ConfigOf<typeof oidcSettings>;

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]'];

/** Plain HTTP would show codes and tokens to the network. */
function parseIssuer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.includes(url.hostname));
  if (!isSafe) throw new Error('must be a URL that begins with https://');
  return text;
}

function parseDomains(text: string): readonly string[] {
  const domains = text.split(',').map((domain) => domain.trim().toLowerCase());
  const wrong = domains.find((domain) => !/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain));
  if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is not a domain like example.com`);
  return domains;
}

function parseClaimRoles(text: string): ReadonlyMap<string, readonly ClaimRole[]> {
  const fault = `must be JSON like {"staff": [{"account": "acme", "role": "agent"}]}, with the roles ${ROLES.join(', ')}`;
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw new Error(fault);
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given)) throw new Error(fault);
  const entries = Object.entries(given) as [string, unknown][];
  if (!entries.every(([, roles]) => Array.isArray(roles) && roles.every(isClaimRole))) throw new Error(fault);
  return new Map(entries as [string, ClaimRole[]][]);
}

function isClaimRole(value: unknown): value is ClaimRole {
  const { account, role, ...rest } = (value ?? {}) as Partial<Record<string, unknown>>;
  return (
    typeof account === 'string' && typeof role === 'string' && isRole(role) && Object.keys(rest).length === 0
  );
}
