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

/** User and password; null if the address has none. */
export function readLogin({ username, password }: URL): { user: string; password: string } | null {
  if (username === '' && password === '') return null;
  return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
}

/** Without the brackets of an IPv6 address. */
export const bareHost = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');
