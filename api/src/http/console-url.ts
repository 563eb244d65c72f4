import type { ApiConfig } from './services.js';

/** Public address of the console: its own, or that of the API. Cookies, links and allowed origins depend on it. */
export const findConsoleUrl = ({ consoleUrl, baseUrl }: Pick<ApiConfig, 'consoleUrl' | 'baseUrl'>): string =>
  consoleUrl ?? baseUrl;

/** Address of a page of the console, which is at the root of its host, also if the API has a path of its own. */
export const makeConsoleUrl = (consoleUrl: string, page: string): URL =>
  new URL(`/console/${page}`, consoleUrl);

/** Host (with a port that is not the usual one) that serves the console alone; null: it shares that of the API. */
export function findConsoleHost({
  consoleUrl,
  baseUrl,
}: Pick<ApiConfig, 'consoleUrl' | 'baseUrl'>): string | null {
  if (consoleUrl === undefined) return null;
  const { host } = new URL(consoleUrl);
  return host === new URL(baseUrl).host ? null : host;
}
