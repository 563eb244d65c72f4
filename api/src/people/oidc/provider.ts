import { hash } from 'node:crypto';
import { ConfigError } from '@gwk/core/config/load';
import type { OidcConfig } from '../../config/oidc.js';
import type { Clock } from '@gwk/core/clock';
import type { Logger } from '@gwk/core/process/log';
import { Problem } from '@gwk/core/problems/problems';
import { Proxy, type ProxyConfig } from '@gwk/core/proxy/proxy';
import type { ClientAuth, Configuration, CustomFetch } from 'openid-client';
import { proxyConnector } from '../../platform/proxy-connector.js';
import { combineClaims, type Claims, type ProviderSettings } from './decide.js';

const TIMEOUT_S = 5;
/** How long the description of the provider is used. The library reads new signing keys by itself. */
const FRESH_MS = 3_600_000;
/** After a failure sign-ins are refused at once, for this time. */
const PAUSE_MS = 5_000;

/** State, nonce and PKCE verifier derive from one token, which only a cookie holds. */
const derive = (purpose: string, token: string): string => hash('sha256', `${purpose} ${token}`, 'base64url');

/** The provider of OpenID Connect. A sign-in is the authorization code flow with PKCE, state and nonce. */
export class OidcProvider {
  #known: { found: Promise<Configuration>; until: number } | null = null;
  #fetch: CustomFetch | undefined;

  constructor(
    readonly settings: ProviderSettings,
    readonly config: OidcConfig & ProxyConfig,
    readonly clock: Clock,
    readonly log: Logger,
  ) {}

  /** Returns the page of the provider. @throws Problem `provider-unavailable` */
  async buildUrl(token: string, redirectUri: string): Promise<string> {
    const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client');
    const url = buildAuthorizationUrl(await this.#find(), {
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: this.config.oidcScopes,
      state: derive('state', token),
      nonce: derive('nonce', token),
      code_challenge: await calculatePKCECodeChallenge(derive('verifier', token)),
      code_challenge_method: 'S256',
    });
    return url.href;
  }

  /**
   * Exchanges the code for the claims of the person. Providers may give e-mail and groups in the user info only.
   * @returns null if the answer is not that of this sign-in, or the person has cancelled
   * @throws Problem `provider-unavailable`
   */
  async readClaims(
    token: string,
    { redirectUri, query }: { redirectUri: string; query: string },
  ): Promise<Claims | null> {
    const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client');
    const configuration = await this.#find();
    const address = new URL(redirectUri);
    address.search = query;
    try {
      const tokens = await authorizationCodeGrant(configuration, address, {
        expectedState: derive('state', token),
        expectedNonce: derive('nonce', token),
        pkceCodeVerifier: derive('verifier', token),
      });
      const claims = tokens.claims()!;
      const wanted = ['email', 'email_verified', this.settings.claim ?? 'email'];
      const isComplete = wanted.every((name) => claims[name] !== undefined);
      if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return { ...claims };
      const userInfo = await fetchUserInfo(configuration, tokens.access_token, claims.sub);
      return combineClaims({ ...claims }, { ...userInfo });
    } catch (error) {
      const { code, name, status } = describeFailure(error);
      this.log.warn({ code, error: name, status }, 'sign-in with the provider failed');
      if (isOutage(error)) throw new Problem('provider-unavailable', { retryAfter: PAUSE_MS / 1000 });
      return null;
    }
  }

  /** All sign-ins share one read of the description. */
  async #find(): Promise<Configuration> {
    const now = this.clock.now();
    if (this.#known === null || this.#known.until <= now)
      this.#known = { found: this.#discover(), until: now + FRESH_MS };
    const { found } = this.#known;
    try {
      return await found;
    } catch (error) {
      if (this.#known.found === found && this.#known.until > now + PAUSE_MS) {
        this.#known.until = now + PAUSE_MS;
        const { code, name, status } = describeFailure(error);
        this.log.warn({ code, error: name, status }, 'the OpenID Connect provider does not answer');
      }
      throw new Problem('provider-unavailable', { retryAfter: PAUSE_MS / 1000 });
    }
  }

  async #discover(): Promise<Configuration> {
    const {
      allowInsecureRequests,
      ClientSecretPost,
      customFetch,
      discovery,
      enableNonRepudiationChecks,
      None,
    } = await import('openid-client');
    const { issuer, clientId } = this.settings;
    // Read at each use, because the secret may be rotated while the description is fresh.
    const authenticate: ClientAuth = (...given) => {
      const secret = this.config.oidcClientSecret();
      (secret === undefined ? None() : ClientSecretPost(secret))(...given);
    };
    const isPlain = new URL(issuer).protocol === 'http:';
    this.#fetch ??= await openFetch(Proxy.fromConfig(this.config));
    return discovery(new URL(issuer), clientId, undefined, authenticate, {
      timeout: TIMEOUT_S,
      [customFetch]: this.#fetch,
      execute: [enableNonRepudiationChecks, ...(isPlain ? [allowInsecureRequests] : [])],
    });
  }
}

/** Node's own fetch takes no connector of another version of undici. */
async function openFetch(proxy: Proxy | null): Promise<CustomFetch> {
  if (!proxy) return fetch;
  const { Agent, buildConnector, fetch: fetchThrough } = await import('undici');
  const connect = buildConnector({ allowH2: false, timeout: TIMEOUT_S * 1000 });
  const dispatcher = new Agent({ allowH2: false, connect: proxyConnector({ proxy, connect }) });
  return (url, options) => fetchThrough(url, { ...options, dispatcher });
}

/** Never the message, which may quote the answer of the provider. */
function describeFailure(error: unknown): { code: string | null; name: string; status: number | null } {
  const { code, error: refusal, name, status, cause } = error as Record<string, unknown>;
  const codes = [refusal, (cause as { code?: unknown } | undefined)?.code, code];
  return {
    code: codes.find((known) => typeof known === 'string') ?? null,
    name: typeof name === 'string' ? name : 'unknown',
    status: typeof status === 'number' ? status : null,
  };
}

/** Without an answer, after the time limit, or with an error of the server. */
function isOutage(error: unknown): boolean {
  const { name, code, status, cause } = error as {
    name?: string;
    code?: string;
    status?: number;
    cause?: unknown;
  };
  const answered = status ?? (cause as Partial<Response> | undefined)?.status ?? 0;
  return name === 'TypeError' || code === 'OAUTH_TIMEOUT' || answered >= 500;
}

/** Returns null without a provider. @throws ConfigError if settings are missing */
export function openProvider(
  config: OidcConfig & ProxyConfig,
  clock: Clock,
  log: Logger,
): OidcProvider | null {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcDomains: domains } = config;
  const { oidcClaim: claim, oidcRoles: roles } = config;
  if (issuer === undefined) {
    if (!config.oidcPasswords)
      throw new ConfigError(['GWK_API_OIDC_PASSWORDS=off needs GWK_API_OIDC_ISSUER']);
    return null;
  }
  const missing = [
    ...(clientId === undefined ? ['GWK_API_OIDC_CLIENT_ID'] : []),
    ...(domains === undefined ? ['GWK_API_OIDC_DOMAINS'] : []),
  ].map((name) => `${name} is not set, and GWK_API_OIDC_ISSUER is`);
  if ((claim === undefined) !== (roles === undefined))
    missing.push('GWK_API_OIDC_CLAIM and GWK_API_OIDC_ROLES need each other');
  if (clientId === undefined || domains === undefined || missing.length > 0) throw new ConfigError(missing);
  const settings = { issuer, clientId, name: config.oidcName, domains, claim, roles: roles ?? new Map() };
  return new OidcProvider(settings, config, clock, log);
}

declare module '../../http/services.js' {
  interface Services {
    /** Null: no OpenID Connect. */
    provider: OidcProvider | null;
  }
}
