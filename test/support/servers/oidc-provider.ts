import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** The parts of the package that the tests use; it has no types. */
interface Provider {
  callback(): RequestListener;
  interactionFinished(req: IncomingMessage, res: ServerResponse, result: object): Promise<void>;
}
interface Grant {
  addOIDCScope(scopes: string): void;
  save(): Promise<string>;
}
interface Context {
  oidc: {
    client: { clientId: string };
    session: { accountId: string };
    provider: { Grant: new (of: object) => Grant };
  };
}
/** A variable, so that the compiler does not look for the types. */
const PACKAGE: string = 'oidc-provider';

type ProviderCertificate = { name: string; key: string; cert: string };

export type ProvidedClaims = Record<string, unknown> & { sub: string };

const CLIENT_ID = 'gwk';
const SCOPES = 'openid email profile';

/** A real provider of OpenID Connect. It signs in the person that the test names, without a page. */
export class TestOidcProvider {
  /** The person who signs in next; null if the next sign-in is canceled. */
  person: ProvidedClaims | null = null;
  readonly clientSecret = randomBytes(16).toString('hex');
  readonly #server;
  #provider: Provider | undefined;

  private constructor(private readonly certificate: ProviderCertificate | null) {
    const answer: RequestListener = (req, res) => void this.#answer(req, res);
    this.#server = certificate ? createSecureServer(certificate, answer) : createServer(answer);
  }

  /**
   * @param redirects addresses to which answers may go
   * @param certificate its name is that of the issuer; null: an issuer without TLS
   */
  static async start(
    redirects: readonly string[],
    certificate: ProviderCertificate | null = null,
  ): Promise<TestOidcProvider> {
    const started = new TestOidcProvider(certificate);
    await new Promise<void>((resolve) => started.#server.listen(0, '127.0.0.1', resolve));
    await started.register(redirects);
    return started;
  }

  /** Replaces the addresses to which answers may go, once the address of the API is known. */
  async register(redirects: readonly string[]): Promise<void> {
    const { default: Implementation } = (await import(PACKAGE)) as {
      default: new (issuer: string, settings: object) => Provider;
    };
    this.#provider = new Implementation(this.issuer, this.#settings(redirects));
  }

  get issuer(): string {
    const { port } = this.#server.address() as AddressInfo;
    return this.certificate ? `https://${this.certificate.name}:${port}` : `http://127.0.0.1:${port}`;
  }

  /** Settings of an API that uses it. */
  get settings(): Record<string, string> {
    return {
      GWK_API_OIDC_ISSUER: this.issuer,
      GWK_API_OIDC_CLIENT_ID: CLIENT_ID,
      GWK_API_OIDC_CLIENT_SECRET: this.clientSecret,
      GWK_API_OIDC_DOMAINS: 'example.org,example.com',
    };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #settings(redirects: readonly string[]): object {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    return {
      jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'test' }] },
      cookies: { keys: [randomBytes(16).toString('hex')] },
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: this.clientSecret,
          redirect_uris: redirects,
          token_endpoint_auth_method: 'client_secret_post',
        },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: () => '/interaction' },
      ttl: { Session: 600, Grant: 600, Interaction: 600, AccessToken: 600, IdToken: 600 },
      findAccount: (_: unknown, id: string) => ({
        accountId: id,
        claims: () => ({ ...this.person, sub: id }),
      }),
      async loadExistingGrant({ oidc: { client, session, provider } }: Context): Promise<Grant> {
        const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
        grant.addOIDCScope(SCOPES);
        await grant.save();
        return grant;
      },
    };
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (!req.url!.startsWith('/interaction')) return this.#provider!.callback()(req, res);
    const result = this.person ? { login: { accountId: this.person.sub } } : { error: 'access_denied' };
    await this.#provider!.interactionFinished(req, res, result);
  }
}

/** Follows the redirects of a provider like a browser, and returns the address outside of it. */
export async function followRedirects(start: string, send: typeof fetch = fetch): Promise<URL> {
  const { origin } = new URL(start);
  const cookies = new Map<string, string>();
  let address = new URL(start);
  while (address.origin === origin) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await send(address, { redirect: 'manual', headers: { cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';')[0]!.split('=');
      cookies.set(name, value);
    }
    const location = answer.headers.get('location');
    if (location === null) throw new Error(`no redirect: ${answer.status} ${await answer.text()}`);
    address = new URL(location, address);
  }
  return address;
}
