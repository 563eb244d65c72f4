/** The host that a connection must reach. */
export interface Target {
  host: string;
  port: number;
}

/** How to reach a proxy. */
export interface ProxyAccess {
  url: URL;
  /** Certificate authority (PEM) instead of the public ones. */
  ca: string | undefined;
}

/**
 * User and password; null if the address has none.
 *
 * @throws URIError if one contains a `%` that encodes nothing
 */
export function readLogin({ username, password }: URL): { user: string; password: string } | null {
  if (username === '' && password === '') return null;
  return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
}

/** Null: the address of a proxy is usable. */
export function findFault(text: string): string | null {
  if (!URL.canParse(text)) return 'is not a URL';
  try {
    readLogin(new URL(text));
    return null;
  } catch {
    return 'has a user or password with a %, which must be written as %25';
  }
}

/** Without the brackets of an IPv6 address. */
export const bareHost = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');
