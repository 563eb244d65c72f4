import { findConsoleUrl } from './console-url.js';
import type { ApiConfig } from './services.js';

/**
 * A cookie of the console, by default that of the session. Over HTTPS the prefix `__Host-` ties it to this host, so that no other host of the domain can
 * set it.
 */
export class SessionCookie {
  readonly #name: string;
  readonly #attributes: string;
  readonly #form: RegExp;

  constructor(config: Pick<ApiConfig, 'baseUrl' | 'consoleUrl'>, name = 'gwk_session') {
    const secure = new URL(findConsoleUrl(config)).protocol === 'https:';
    this.#name = secure ? `__Host-${name}` : name;
    this.#attributes = `Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
    this.#form = new RegExp(`(?:^|;)\\s*${this.#name}=([\\w-]+)`);
  }

  /** Returns the token in a `Cookie` header; null: none. */
  read(header: string | undefined): string | null {
    return this.#form.exec(header ?? '')?.[1] ?? null;
  }

  set(token: string, maxAgeSeconds: number): string {
    return `${this.#name}=${token}; Max-Age=${maxAgeSeconds}; ${this.#attributes}`;
  }

  clear(): string {
    return `${this.#name}=; Max-Age=0; ${this.#attributes}`;
  }
}
