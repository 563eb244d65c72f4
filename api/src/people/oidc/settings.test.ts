import { ConfigError, loadConfig } from '@gwk/core/config/load';
import { oidcSettings } from '../../config/oidc.js';
import { proxySettings } from '@gwk/core/config/proxy';
import { createLogger } from '@gwk/core/process/log';
import { processClock } from '@gwk/core/clock';
import { combineClaims, readPerson } from './decide.js';
import { openProvider } from './provider.js';

const GOOD = {
  GWK_API_OIDC_ISSUER: 'https://login.example.com',
  GWK_API_OIDC_CLIENT_ID: 'gwk',
  GWK_API_OIDC_DOMAINS: 'example.com, Example.org',
};
const ROLES =
  '{"staff": [{"account": "acme", "role": "agent"}], "leads": [{"account": "acme", "role": "admin"}]}';

const settings = { ...oidcSettings, ...proxySettings('GWK_API', 'tests') };
const open = (changes: Record<string, string | undefined>) =>
  openProvider(loadConfig(settings, { ...GOOD, ...changes }), processClock, createLogger('test', 'silent'));

test('there is no provider without an issuer', () => {
  expect(openProvider(loadConfig(settings, {}), processClock, createLogger('test', 'silent'))).toBeNull();
});

test.each([
  ['an issuer without TLS', { GWK_API_OIDC_ISSUER: 'http://login.example.com' }],
  ['no client id', { GWK_API_OIDC_CLIENT_ID: undefined }],
  ['no domains', { GWK_API_OIDC_DOMAINS: undefined }],
  ['a wrong domain', { GWK_API_OIDC_DOMAINS: 'example.com,@example.org' }],
  ['a claim without roles', { GWK_API_OIDC_CLAIM: 'groups' }],
  ['roles without a claim', { GWK_API_OIDC_ROLES: ROLES }],
  ['an unknown role', { GWK_API_OIDC_CLAIM: 'groups', GWK_API_OIDC_ROLES: ROLES.replace('agent', 'boss') }],
  ['roles that are no JSON', { GWK_API_OIDC_CLAIM: 'groups', GWK_API_OIDC_ROLES: 'staff' }],
  ['passwords off without a provider', { GWK_API_OIDC_ISSUER: undefined, GWK_API_OIDC_PASSWORDS: 'off' }],
])('refuses %s', (_, changes) => {
  expect(() => open(changes)).toThrow(ConfigError);
});

test('of several roles in an account the most powerful counts, and a missing one is null', () => {
  const { settings } = open({ GWK_API_OIDC_CLAIM: 'groups', GWK_API_OIDC_ROLES: ROLES })!;
  const claims = { iss: 'i', sub: 's', email: 'Ana@Example.org', email_verified: true };
  const rolesOf = (groups: unknown) => [...readPerson({ ...claims, groups }, settings)!.roles];
  expect(rolesOf(['staff', 'leads'])).toEqual([['acme', 'admin']]);
  expect(rolesOf('staff')).toEqual([['acme', 'agent']]);
  expect(rolesOf(undefined)).toEqual([['acme', null]]);
  expect(readPerson(claims, settings)).toMatchObject({ email: 'ana@example.org', name: 'ana@example.org' });
});

test.each<[string, object, object, unknown[]]>([
  ['only the ID token', { email: 'a@x', email_verified: true }, {}, ['a@x', true]],
  ['only the user info', {}, { email: 'b@x', email_verified: true }, ['b@x', true]],
  ['both', { email: 'a@x', email_verified: false }, { email: 'b@x', email_verified: true }, ['a@x', false]],
  [
    'the ID token without a verification',
    { email: 'a@x' },
    { email: 'b@x', email_verified: true },
    ['b@x', true],
  ],
  [
    'the ID token, and the verification in the user info',
    { email: 'a@x' },
    { email_verified: true },
    [undefined, true],
  ],
  [
    'the user info, and a verification in the ID token',
    { email_verified: true },
    { email: 'b@x' },
    ['b@x', undefined],
  ],
])('e-mail and verification come from one source: %s', (_, idToken, userInfo, expected) => {
  const combined = combineClaims({ sub: 's', ...idToken }, { sub: 's', groups: ['staff'], ...userInfo });
  expect([combined['email'], combined['email_verified']]).toEqual(expected);
  expect(combined).toMatchObject({ sub: 's', groups: ['staff'] });
});
