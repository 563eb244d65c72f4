import { newUuid } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import { ProviderAnswer, ProviderSignIn, SignInMethods } from '../../resources/console/oidc.js';
import { SessionOut } from '../../resources/console/session.js';
import { hashToken, newToken } from '../../accounts/sessions.js';
import type { Database } from '../../database/database.js';
import { operation } from '../../http/operation.js';
import type { Services } from '../../http/services.js';
import { requireOrigin } from '../../http/session-access.js';
import { SessionCookie } from '../../http/session-cookie.js';
import { verifyWithinLimits } from '../sign-in/attempts.js';
import { finishFirstFactor, PRIVATE } from '../sign-in/sessions.js';
import { readPerson, type Claims } from './decide.js';
import { admitPerson } from './people.js';
import type { OidcProvider } from './provider.js';

const PATH = '/console/api/session';
const COOKIE = 'gwk_provider';
const SECONDS = 600;

const getSignInMethods = operation({
  name: 'getSignInMethods',
  method: 'GET',
  path: `${PATH}/methods`,
  summary: 'Show how people sign in',
  scope: null,
  person: 'anyone',
  status: 200,
  result: SignInMethods,
  handle({ services: { provider, passwordResets, config } }) {
    const { oidcPasswords } = config;
    const body = {
      password: oidcPasswords,
      passkey: oidcPasswords,
      password_reset: passwordResets !== null,
      provider: provider && { name: provider.settings.name },
    };
    return { status: 200, body, headers: PRIVATE };
  },
});

const startProviderSignIn = operation({
  name: 'startProviderSignIn',
  method: 'POST',
  path: `${PATH}/provider`,
  summary: 'Start to sign in with the OpenID Connect provider',
  description: 'The provider sends the browser back to `/console/oidc`. 404 without a provider.',
  scope: null,
  person: 'anyone',
  status: 200,
  problems: ['not-found', 'provider-unavailable'],
  result: ProviderSignIn,
  async handle({ exchange, services }) {
    const provider = requireProvider(services);
    const token = newToken();
    const url = await provider.buildUrl(token, buildRedirectUri(requireOrigin(exchange, services.config)));
    const expiresAt = new Date(Date.now() + SECONDS * 1000);
    await services.db.providerSignIn.create({
      data: { id: newUuid(), tokenHash: hashToken(token), expiresAt },
    });
    const cookie = new SessionCookie(services.config, COOKIE).set(token, SECONDS);
    return { status: 200, body: { url }, headers: ['Set-Cookie', cookie, ...PRIVATE] };
  },
});

const finishProviderSignIn = operation({
  name: 'finishProviderSignIn',
  method: 'POST',
  path: `${PATH}/provider/answer`,
  summary: 'Sign in with the answer of the OpenID Connect provider',
  description:
    'In the browser that has started it, once. The e-mail must be verified and of an allowed domain. Roles of the claim replace those of the person.',
  scope: null,
  person: 'anyone',
  status: 200,
  problems: [
    'not-found',
    'invalid-credentials',
    'login-locked',
    'mfa-required',
    'no-account',
    'provider-unavailable',
  ],
  body: ProviderAnswer,
  result: SessionOut,
  async handle({ body: { query }, exchange, services }) {
    const { db, log, config } = services;
    const provider = requireProvider(services);
    const redirectUri = buildRedirectUri(requireOrigin(exchange, config));
    const token = new SessionCookie(config, COOKIE).read(exchange.headers.cookie) ?? '';
    const client = exchange.ip ?? '';
    const attempt = { subject: `provider:${token}`, userId: null, client, step: 'provider' } as const;
    let claims: Claims | null = null;
    await verifyWithinLimits(db, attempt, async () => {
      if (await redeemSignIn(db, token)) claims = await provider.readClaims(token, { redirectUri, query });
      return claims !== null;
    });
    if (claims === null) throw new Problem('invalid-credentials', { detail: REFUSED });
    const person = readPerson(claims, provider.settings);
    if (!person) throw new Problem('no-account', { detail: NOT_ALLOWED });
    // A refused person may have lost roles too.
    const user = await admitPerson(db, person, log).finally(() => services.sessions.clear());
    const proof = { user, by: 'provider', stale: 'invalid-credentials' } as const;
    return finishFirstFactor(services, exchange, proof);
  },
});

const REFUSED = {
  pt: 'O provedor não confirmou este acesso, ou ele demorou demais. Comece de novo.',
  en: 'The provider did not confirm this sign-in, or it took too long. Start again.',
};
const NOT_ALLOWED = {
  pt: 'O e-mail não foi verificado pelo provedor ou não é de um domínio permitido.',
  en: 'The provider has not verified the e-mail, or it is of no allowed domain.',
};

/** @throws Problem `not-found` */
function requireProvider({ provider }: Services): OidcProvider {
  if (!provider) throw new Problem('not-found');
  return provider;
}

/** The page that receives the answer. Its origin is one of the settings, so the answer reaches no other site. */
const buildRedirectUri = (origin: string): string => `${origin}/console/oidc`;

/** Uses up a sign-in of this browser. One statement, so that of two uses at once only one succeeds. */
async function redeemSignIn(db: Database, token: string): Promise<boolean> {
  const { count } = await db.providerSignIn.deleteMany({
    where: { tokenHash: hashToken(token), expiresAt: { gt: new Date() } },
  });
  return count > 0;
}

export const providerOperations = [getSignInMethods, startProviderSignIn, finishProviderSignIn];
